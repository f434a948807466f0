// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Operators that are others under a second name.

// Inverse functions have two names.

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

// Python's operators on bits.
func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) {
  %0 = aten.__and__.Tensor %x, %y : tensor<3xi64>
  %1 = aten.__or__.Tensor %x, %y : tensor<3xi64>
  %3 = aten.__lshift__.Tensor %x, %y : tensor<3xi64>
  %4 = aten.__rshift__.Tensor %x, %y : tensor<3xi64>
  func.return %0, %1, %3, %4 : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_AND:.*]] = aten.bitwise_and.Tensor %x, %y : tensor<3xi64>
// CHECK-NEXT: %[[BITWISE_OR:.*]] = aten.bitwise_or.Tensor %x, %y : tensor<3xi64>
// CHECK-NEXT: %[[BITWISE_LEFT_SHIFT:.*]] = aten.bitwise_left_shift.Tensor %x, %y : tensor<3xi64>
// CHECK-NEXT: %[[BITWISE_RIGHT_SHIFT:.*]] = aten.bitwise_right_shift.Tensor %x, %y : tensor<3xi64>
// CHECK-NEXT: func.return %[[BITWISE_AND]], %[[BITWISE_OR]], %[[BITWISE_LEFT_SHIFT]], %[[BITWISE_RIGHT_SHIFT]]

// -----

// Shifts by a number are products and quotients.
func.func @forward(%x: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
  %3 = aten.__lshift__.Scalar %x {other = 3} : tensor<3xi64>
  %4 = aten.__rshift__.Scalar %x {other = 3} : tensor<3xi64>
  func.return %3, %4 : tensor<3xi64>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_LEFT_SHIFT:.*]] = aten.bitwise_left_shift.Tensor_Scalar %x {other = 3} : tensor<3xi64>
// CHECK-NEXT: %[[BITWISE_RIGHT_SHIFT:.*]] = aten.bitwise_right_shift.Tensor_Scalar %x {other = 3} : tensor<3xi64>
// CHECK-NEXT: func.return %[[BITWISE_LEFT_SHIFT]], %[[BITWISE_RIGHT_SHIFT]]

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
