// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Pointwise arithmetic beyond that of Core ATen.

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xi64>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.rsub.Scalar %x {other = 2} : tensor<3xf32>
  %1 = aten.sub.Scalar %y {other = 0.5, alpha = 2} : (tensor<3xi64>) -> tensor<3xf32>
  %2 = aten.frac %x : tensor<3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NUMBER:.*]] = program.literal 2
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %[[NUMBER]], %x
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %y {dtype = f32}
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Scalar %[[TO_COPY]] {other = 0.5, alpha = 2}
// CHECK-NEXT: %[[TRUNC:.*]] = aten.trunc %x
// CHECK-NEXT: %[[SUB3:.*]] = aten.sub.Tensor %x, %[[TRUNC]]
// CHECK-NEXT: func.return %[[SUB]], %[[SUB2]], %[[SUB3]]

// -----

// Between two numbers, from the nearer one.
func.func @forward(%x: tensor<3xf32>, %end: tensor<3xf32>, %weight: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.lerp.Tensor %x, %end, %weight : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %end, %x
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %weight
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[ABS]] {other = 0.5}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[SUB]], %weight
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %x, %[[MUL]]
// CHECK-NEXT: %[[NUMBER:.*]] = program.literal 1
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Tensor %[[NUMBER]], %weight
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %[[SUB]], %[[SUB2]]
// CHECK-NEXT: %[[SUB3:.*]] = aten.sub.Tensor %end, %[[MUL2]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[ADD]], %[[SUB3]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// Degrees of integers are floats.
func.func @forward(%x: tensor<3xi64>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.deg2rad %x : (tensor<3xi64>) -> tensor<3xf32>
  %1 = aten.rad2deg %y : tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[TO_COPY]] {other = 0.017453292519943295}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %y {other = 57.29577951308232}
// CHECK-NEXT: func.return %[[MUL]], %[[MUL2]]

// -----

func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.exp2 %x : tensor<3xf32>
  %1 = aten.sinc %x : tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[POW:.*]] = aten.pow.Scalar %x {self = 2.0}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %x {other = 3.141592653589793}
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %[[MUL]] {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1, dtype = f32}
// CHECK-NEXT: %[[SIN:.*]] = aten.sin %[[MUL]]
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[SIN]], %[[MUL]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %[[FULL]], %[[DIV]]
// CHECK-NEXT: func.return %[[POW]], %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.logit %x {eps = 0.25} : tensor<3xf32>
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

// Infinities of one sign have no difference.
func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.logaddexp %x, %y : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MAXIMUM:.*]] = aten.maximum %x, %y
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[SUB]]
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %[[ABS]]
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[NEG]]
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %[[EXP]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MAXIMUM]], %[[LOG1P]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Tensor %x, %y
// CHECK-NEXT: %[[ISINF:.*]] = aten.isinf %x
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ]], %[[ISINF]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LOGICAL_AND]], %[[MAXIMUM]], %[[ADD]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.special_entr %x : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOG:.*]] = aten.log %x
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %[[LOG]]
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %[[MUL]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %[[FULL]], %[[NEG]]
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %x {other = 0}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = -inf, dtype = f32}
// CHECK-NEXT: %[[WHERE2:.*]] = aten.where.self %[[LT]], %[[FULL2]], %[[WHERE]]
// CHECK-NEXT: func.return %[[WHERE2]]

// -----

// The power of floats is f64.
func.func @forward(%x: tensor<3xf32>, %exponent: tensor<3xi64>, %exponent2: tensor<3xf32>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0 = aten.float_power.Tensor_Tensor %x, %exponent : (tensor<3xf32>, tensor<3xi64>) -> tensor<3xf64>
  %1 = aten.float_power.Tensor_Scalar %x {exponent = 0.5} : (tensor<3xf32>) -> tensor<3xf64>
  %2 = aten.float_power.Scalar %exponent2 {self = 2} : (tensor<3xf32>) -> tensor<3xf64>
  func.return %0, %1, %2 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f64}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %exponent {dtype = f64}
// CHECK-NEXT: %[[POW:.*]] = aten.pow.Tensor_Tensor %[[TO_COPY]], %[[TO_COPY2]]
// CHECK-NEXT: %[[TO_COPY3:.*]] = aten._to_copy %x {dtype = f64}
// CHECK-NEXT: %[[POW2:.*]] = aten.pow.Tensor_Scalar %[[TO_COPY3]] {exponent = 0.5}
// CHECK-NEXT: %[[TO_COPY4:.*]] = aten._to_copy %exponent2 {dtype = f64}
// CHECK-NEXT: %[[POW3:.*]] = aten.pow.Scalar %[[TO_COPY4]] {self = 2}
// CHECK-NEXT: func.return %[[POW]], %[[POW2]], %[[POW3]]

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.floor_divide %x, %y : tensor<3xf32>
  %1 = aten.floor_divide.Scalar %x {other = 2} : tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor_mode %x, %y {rounding_mode = "floor"}
// CHECK-NEXT: %[[DIV2:.*]] = aten.div.Scalar_mode %x {other = 2, rounding_mode = "floor"}
// CHECK-NEXT: func.return %[[DIV]], %[[DIV2]]

// -----

// 0, whatever the logarithm is, unless it is of NaN.
func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.xlogy.Tensor %x, %y : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOG:.*]] = aten.log %y
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %[[LOG]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = 0}
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %y
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ISNAN]]
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ]], %[[LOGICAL_NOT]]
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LOGICAL_AND]], %[[FULL]], %[[MUL]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<3xf32> {
  %0 = aten.special_xlogy %x, %y : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %y {dtype = f32}
// CHECK-NEXT: %[[LOG:.*]] = aten.log %[[TO_COPY]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %[[LOG]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = 0}
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %y
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ISNAN]]
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ]], %[[LOGICAL_NOT]]
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LOGICAL_AND]], %[[FULL]], %[[MUL]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// Shifts within the width are products and quotients.
func.func @forward(%x: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
  %0 = aten.bitwise_left_shift.Tensor_Scalar %x {other = 3} : tensor<3xi64>
  %1 = aten.bitwise_right_shift.Tensor_Scalar %x {other = 2} : tensor<3xi64>
  func.return %0, %1 : tensor<3xi64>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %x {other = 8}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar_mode %x {other = 4, rounding_mode = "floor"}
// CHECK-NEXT: func.return %[[MUL]], %[[DIV]]

// -----

// Others have the surprises of the machine.
func.func @forward(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.bitwise_left_shift.Tensor_Scalar %x {other = 64} : tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_LEFT_SHIFT:.*]] = aten.bitwise_left_shift.Tensor_Scalar %x {other = 64}
// CHECK-NEXT: func.return %[[BITWISE_LEFT_SHIFT]]

// -----

func.func @forward(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.bitwise_right_shift.Tensor_Scalar %x {other = -1} : tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_RIGHT_SHIFT:.*]] = aten.bitwise_right_shift.Tensor_Scalar %x {other = -1}
// CHECK-NEXT: func.return %[[BITWISE_RIGHT_SHIFT]]

// -----

func.func @forward(%x1: tensor<5x3xf32>, %x2: tensor<4x3xf32>) -> tensor<5x4xf32> {
  %0 = aten.cdist %x1, %x2 : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
  func.return %0 : tensor<5x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CDIST_FORWARD:.*]] = aten._cdist_forward %x1, %x2 {p = 2.0}
// CHECK-NEXT: func.return %[[CDIST_FORWARD]]

// -----

// Nothing to do.
func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.positive %x : tensor<3xf32>
  %1 = aten.detach %x : tensor<3xf32>
  %2 = aten.data %x : tensor<3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: func.return %x, %x, %x

// -----

// Complex numbers have a sigmoid of their own, which kernels lack.
func.func @forward(%x: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %0 = aten.silu %x : tensor<3xcomplex<f32>>
  func.return %0 : tensor<3xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SILU:.*]] = aten.silu %x
// CHECK-NEXT: func.return %[[SILU]]
