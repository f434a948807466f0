// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Operators that are others under a second name.

// Inverse functions have two names.
func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.arccos %x : tensor<3xf32>
  %1 = aten.arcsin %x : tensor<3xf32>
  %2 = aten.arctan %x : tensor<3xf32>
  %3 = aten.arccosh %x : tensor<3xf32>
  %4 = aten.arcsinh %x : tensor<3xf32>
  %5 = aten.arctanh %x : tensor<3xf32>
  %6 = aten.arctan2 %x, %y : tensor<3xf32>
  func.return %0, %1, %2, %3, %4, %5, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ACOS:.*]] = aten.acos %x
// CHECK-NEXT: %[[ASIN:.*]] = aten.asin %x
// CHECK-NEXT: %[[ATAN:.*]] = aten.atan %x
// CHECK-NEXT: %[[ACOSH:.*]] = aten.acosh %x
// CHECK-NEXT: %[[ASINH:.*]] = aten.asinh %x
// CHECK-NEXT: %[[ATANH:.*]] = aten.atanh %x
// CHECK-NEXT: %[[ATAN2:.*]] = aten.atan2 %x, %y
// CHECK-NEXT: func.return %[[ACOS]], %[[ASIN]], %[[ATAN]], %[[ACOSH]], %[[ASINH]], %[[ATANH]], %[[ATAN2]]

// -----

// So have others.
func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.absolute %x : tensor<3xf32>
  %1 = aten.negative %x : tensor<3xf32>
  %2 = aten.fix %x : tensor<3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %x
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %x
// CHECK-NEXT: %[[TRUNC:.*]] = aten.trunc %x
// CHECK-NEXT: func.return %[[ABS]], %[[NEG]], %[[TRUNC]]

// -----

// Special functions are where they were before.
func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.special_erf %x : tensor<3xf32>
  %1 = aten.special_exp2 %x : tensor<3xf32>
  %2 = aten.special_expit %x : tensor<3xf32>
  %3 = aten.special_expm1 %x : tensor<3xf32>
  %4 = aten.special_log1p %x : tensor<3xf32>
  func.return %0, %1, %2, %3, %4 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ERF:.*]] = aten.erf %x
// CHECK-NEXT: %[[POW:.*]] = aten.pow.Scalar %x {self = 2.0}
// CHECK-NEXT: %[[SIGMOID:.*]] = aten.sigmoid %x
// CHECK-NEXT: %[[EXPM1:.*]] = aten.expm1 %x
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %x
// CHECK-NEXT: func.return %[[ERF]], %[[POW]], %[[SIGMOID]], %[[EXPM1]], %[[LOG1P]]

// -----

// What the other name stands for may be decomposed itself.
func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.special_sinc %x : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %x {other = 3.141592653589793}
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %[[MUL]] {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1, dtype = f32}
// CHECK-NEXT: %[[SIN:.*]] = aten.sin %[[MUL]]
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[SIN]], %[[MUL]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %[[FULL]], %[[DIV]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.special_logit %x {eps = 0.25} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CLAMP:.*]] = aten.clamp %x {min = 0.25, max = 0.75}
// CHECK-NEXT: %[[NUMBER:.*]] = program.literal 1
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %[[NUMBER]], %[[CLAMP]]
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[CLAMP]], %[[SUB]]
// CHECK-NEXT: %[[LOG:.*]] = aten.log %[[DIV]]
// CHECK-NEXT: func.return %[[LOG]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %0 = aten.special_logsumexp %x {dim = [1]} : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AMAX:.*]] = aten.amax %x {dim = [1], keepdim = true}
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[AMAX]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %[[ABS]] {other = inf}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %[[FULL]], %[[AMAX]]
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %[[WHERE]]
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[SUB]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[EXP]] {dim = [1]}
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[WHERE]] {dim = [1]}
// CHECK-NEXT: %[[LOG:.*]] = aten.log %[[SUM]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[LOG]], %[[SQUEEZE]]
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3xf32>, %min: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.clip %x {min = -0.5, max = 0.5} : tensor<3xf32>
  %1 = aten.clip.Tensor %x, %min : tensor<3xf32>
  %2 = aten.max.other %x, %y : tensor<3xf32>
  %3 = aten.min.other %x, %y : tensor<3xf32>
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CLAMP:.*]] = aten.clamp %x {min = -0.5, max = 0.5}
// CHECK-NEXT: %[[CLAMP2:.*]] = aten.clamp.Tensor %x, %min
// CHECK-NEXT: %[[MAXIMUM:.*]] = aten.maximum %x, %y
// CHECK-NEXT: %[[MINIMUM:.*]] = aten.minimum %x, %y
// CHECK-NEXT: func.return %[[CLAMP]], %[[CLAMP2]], %[[MAXIMUM]], %[[MINIMUM]]

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.multiply.Tensor %x, %y : tensor<3xf32>
  %1 = aten.divide.Tensor %x, %y : tensor<3xf32>
  %2 = aten.true_divide.Tensor %x, %y : tensor<3xf32>
  %3 = aten.subtract.Tensor %x, %y : tensor<3xf32>
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %y
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %x, %y
// CHECK-NEXT: %[[DIV2:.*]] = aten.div.Tensor %x, %y
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: func.return %[[MUL]], %[[DIV]], %[[DIV2]], %[[SUB]]

// -----

func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.multiply.Scalar %x {other = 2.5} : tensor<3xf32>
  %1 = aten.divide.Scalar %x {other = 2.5} : tensor<3xf32>
  %2 = aten.true_divide.Scalar %x {other = 2.5} : tensor<3xf32>
  %3 = aten.subtract.Scalar %x {other = 2.5} : tensor<3xf32>
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %x {other = 2.5}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar %x {other = 2.5}
// CHECK-NEXT: %[[DIV2:.*]] = aten.div.Scalar %x {other = 2.5}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Scalar %x {other = 2.5}
// CHECK-NEXT: func.return %[[MUL]], %[[DIV]], %[[DIV2]], %[[SUB]]

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.divide.Tensor_mode %x, %y {rounding_mode = "trunc"} : tensor<3xf32>
  %1 = aten.divide.Scalar_mode %x {other = 2, rounding_mode = "floor"} : tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor_mode %x, %y {rounding_mode = "trunc"}
// CHECK-NEXT: %[[DIV2:.*]] = aten.div.Scalar_mode %x {other = 2, rounding_mode = "floor"}
// CHECK-NEXT: func.return %[[DIV]], %[[DIV2]]

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
  %0 = aten.greater.Tensor %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %1 = aten.greater_equal.Tensor %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %2 = aten.less.Tensor %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %3 = aten.less_equal.Tensor %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %4 = aten.not_equal.Tensor %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  func.return %0, %1, %2, %3, %4 : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Tensor %x, %y
// CHECK-NEXT: %[[GE:.*]] = aten.ge.Tensor %x, %y
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Tensor %x, %y
// CHECK-NEXT: %[[LE:.*]] = aten.le.Tensor %x, %y
// CHECK-NEXT: %[[NE:.*]] = aten.ne.Tensor %x, %y
// CHECK-NEXT: func.return %[[GT]], %[[GE]], %[[LT]], %[[LE]], %[[NE]]

// -----

func.func @forward(%x: tensor<3xf32>) -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
  %0 = aten.greater.Scalar %x {other = 0} : (tensor<3xf32>) -> tensor<3xi1>
  %1 = aten.greater_equal.Scalar %x {other = 0} : (tensor<3xf32>) -> tensor<3xi1>
  %2 = aten.less.Scalar %x {other = 0} : (tensor<3xf32>) -> tensor<3xi1>
  %3 = aten.less_equal.Scalar %x {other = 0} : (tensor<3xf32>) -> tensor<3xi1>
  %4 = aten.not_equal.Scalar %x {other = 0} : (tensor<3xf32>) -> tensor<3xi1>
  func.return %0, %1, %2, %3, %4 : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Scalar %x {other = 0}
// CHECK-NEXT: %[[GE:.*]] = aten.ge.Scalar %x {other = 0}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %x {other = 0}
// CHECK-NEXT: %[[LE:.*]] = aten.le.Scalar %x {other = 0}
// CHECK-NEXT: %[[NE:.*]] = aten.ne.Scalar %x {other = 0}
// CHECK-NEXT: func.return %[[GT]], %[[GE]], %[[LT]], %[[LE]], %[[NE]]

// -----

// Python's operators on bits.
func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) {
  %0 = aten.__and__.Tensor %x, %y : tensor<3xi64>
  %1 = aten.__or__.Tensor %x, %y : tensor<3xi64>
  %2 = aten.__xor__.Tensor %x, %y : tensor<3xi64>
  %3 = aten.__lshift__.Tensor %x, %y : tensor<3xi64>
  %4 = aten.__rshift__.Tensor %x, %y : tensor<3xi64>
  func.return %0, %1, %2, %3, %4 : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_AND:.*]] = aten.bitwise_and.Tensor %x, %y
// CHECK-NEXT: %[[BITWISE_OR:.*]] = aten.bitwise_or.Tensor %x, %y
// CHECK-NEXT: %[[BITWISE_XOR:.*]] = aten.bitwise_xor.Tensor %x, %y
// CHECK-NEXT: %[[BITWISE_LEFT_SHIFT:.*]] = aten.bitwise_left_shift.Tensor %x, %y
// CHECK-NEXT: %[[BITWISE_RIGHT_SHIFT:.*]] = aten.bitwise_right_shift.Tensor %x, %y
// CHECK-NEXT: func.return %[[BITWISE_AND]], %[[BITWISE_OR]], %[[BITWISE_XOR]], %[[BITWISE_LEFT_SHIFT]], %[[BITWISE_RIGHT_SHIFT]]

// -----

// Shifts by a number are products and quotients.
func.func @forward(%x: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) {
  %0 = aten.__and__.Scalar %x {other = 3} : tensor<3xi64>
  %1 = aten.__or__.Scalar %x {other = 3} : tensor<3xi64>
  %2 = aten.__xor__.Scalar %x {other = 3} : tensor<3xi64>
  %3 = aten.__lshift__.Scalar %x {other = 3} : tensor<3xi64>
  %4 = aten.__rshift__.Scalar %x {other = 3} : tensor<3xi64>
  func.return %0, %1, %2, %3, %4 : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_AND:.*]] = aten.bitwise_and.Scalar %x {other = 3}
// CHECK-NEXT: %[[BITWISE_OR:.*]] = aten.bitwise_or.Scalar %x {other = 3}
// CHECK-NEXT: %[[BITWISE_XOR:.*]] = aten.bitwise_xor.Scalar %x {other = 3}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %x {other = 8}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar_mode %x {other = 8, rounding_mode = "floor"}
// CHECK-NEXT: func.return %[[BITWISE_AND]], %[[BITWISE_OR]], %[[BITWISE_XOR]], %[[MUL]], %[[DIV]]

// -----

func.func @forward(%tensors0: tensor<2xf32>, %tensors1: tensor<3xf32>, %tensors02: tensor<2x1xf32>, %tensors12: tensor<2x3xf32>) -> (tensor<5xf32>, tensor<2x4xf32>) {
  %0 = aten.concat [%tensors0, %tensors1] : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %1 = aten.concatenate [%tensors02, %tensors12] {dim = 1} : (tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  func.return %0, %1 : tensor<5xf32>, tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%tensors0, %tensors1]
// CHECK-NEXT: %[[CAT2:.*]] = aten.cat [%tensors02, %tensors12] {dim = 1}
// CHECK-NEXT: func.return %[[CAT]], %[[CAT2]]

// -----

func.func @forward(%x: tensor<6x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<1x3xf32>, tensor<5x3xf32>) {
  %0, %1 = aten.unsafe_chunk %x {chunks = 2} : (tensor<6x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  %2, %3 = aten.unsafe_split.Tensor %x {split_size = 3} : (tensor<6x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  %4, %5 = aten.unsafe_split_with_sizes %x {split_sizes = [1, 5]} : (tensor<6x3xf32>) -> (tensor<1x3xf32>, tensor<5x3xf32>)
  func.return %0, %1, %2, %3, %4, %5 : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<1x3xf32>, tensor<5x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %[[SPLIT_WITH_SIZES2:.*]] = aten.split_with_sizes %x {split_sizes = [3, 3]}
// CHECK-NEXT: %[[SPLIT_WITH_SIZES3:.*]], %[[SPLIT_WITH_SIZES4:.*]] = aten.split_with_sizes %x {split_sizes = [3, 3]}
// CHECK-NEXT: %[[SPLIT_WITH_SIZES5:.*]], %[[SPLIT_WITH_SIZES6:.*]] = aten.split_with_sizes %x {split_sizes = [1, 5]}
// CHECK-NEXT: func.return %[[SPLIT_WITH_SIZES]], %[[SPLIT_WITH_SIZES2]], %[[SPLIT_WITH_SIZES3]], %[[SPLIT_WITH_SIZES4]], %[[SPLIT_WITH_SIZES5]], %[[SPLIT_WITH_SIZES6]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i1: tensor<2xi64>, %i: tensor<2xi64>, %values: tensor<4xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>) {
  %0 = aten._unsafe_index.Tensor %x, [none, %i1] : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  %1 = aten._unsafe_index_put %x, [%i], %values : (tensor<3x4xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return %0, %1 : tensor<3x2xf32>, tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[INDEX:.*]] = aten.index.Tensor %x, [none, %i1]
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [%i], %values
// CHECK-NEXT: func.return %[[INDEX]], %[[INDEX_PUT]]
