// RUN: et-opt -p legalize --split-input-file %s | filecheck %s
// RUN: et-opt -p 'legalize,legalize' --split-input-file %s | filecheck %s

// All bits are gone by the width of the type or more, or by less than 0; what is left to the right is the sign.
func.func @forward(%x: tensor<4xi8>, %y: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xui8>) {
  %0 = edge.bitwise_left_shift.Tensor_Scalar %x {other = 8} : tensor<4xi8>
  %1 = edge.bitwise_right_shift.Tensor_Scalar %x {other = -1} : tensor<4xi8>
  %2 = edge.bitwise_right_shift.Tensor_Scalar %y {other = 300} : tensor<4xui8>
  func.return %0, %1, %2 : tensor<4xi8>, tensor<4xi8>, tensor<4xui8>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LEFT:.*]] = edge.full_like %x {fill_value = 0}
// CHECK-NEXT: %[[RIGHT:.*]] = edge.bitwise_right_shift.Tensor_Scalar %x {other = 7}
// CHECK-NEXT: %[[BYTES:.*]] = edge.full_like %y {fill_value = 0}
// CHECK-NEXT: func.return %[[LEFT]], %[[RIGHT]], %[[BYTES]]

// -----

// A number is one of the type of the tensor.
func.func @forward(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.bitwise_left_shift.Tensor_Scalar %x {other = 257} : tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LEFT:.*]] = edge.bitwise_left_shift.Tensor_Scalar %x {other = 1}
// CHECK-NEXT: func.return %[[LEFT]]

// -----

// Numbers that kernels know are left, and what is not known is compared with its last bits.
func.func @forward(%x: tensor<4x1xi32>, %y: tensor<3xi32>) -> (tensor<4x1xi32>, tensor<4x3xi32>, tensor<4x3xi32>) {
  %0 = edge.bitwise_left_shift.Tensor_Scalar %x {other = 31} : tensor<4x1xi32>
  %1 = edge.bitwise_left_shift.Tensor %x, %y : (tensor<4x1xi32>, tensor<3xi32>) -> tensor<4x3xi32>
  %2 = edge.bitwise_right_shift.Tensor %x, %y : (tensor<4x1xi32>, tensor<3xi32>) -> tensor<4x3xi32>
  func.return %0, %1, %2 : tensor<4x1xi32>, tensor<4x3xi32>, tensor<4x3xi32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[KNOWN:.*]] = edge.bitwise_left_shift.Tensor_Scalar %x {other = 31}
// CHECK-NEXT: %[[REST:.*]] = edge.bitwise_and.Scalar %y {other = 31} : tensor<3xi32>
// CHECK-NEXT: %[[INSIDE:.*]] = edge.eq.Tensor %y, %[[REST]] : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
// CHECK-NEXT: %[[SHIFTED:.*]] = edge.bitwise_left_shift.Tensor %x, %[[REST]]
// CHECK-NEXT: %[[ZERO:.*]] = edge.full {size = [], fill_value = 0, dtype = i32}
// CHECK-NEXT: %[[LEFT:.*]] = edge.where.self %[[INSIDE]], %[[SHIFTED]], %[[ZERO]]
// CHECK-NEXT: %[[REST2:.*]] = edge.bitwise_and.Scalar %y {other = 31}
// CHECK-NEXT: %[[INSIDE2:.*]] = edge.eq.Tensor %y, %[[REST2]]
// CHECK-NEXT: %[[SHIFTED2:.*]] = edge.bitwise_right_shift.Tensor %x, %[[REST2]]
// CHECK-NEXT: %[[SIGN:.*]] = edge.bitwise_right_shift.Tensor_Scalar %x {other = 31} : tensor<4x1xi32>
// CHECK-NEXT: %[[RIGHT:.*]] = edge.where.self %[[INSIDE2]], %[[SHIFTED2]], %[[SIGN]]
// CHECK-NEXT: func.return %[[KNOWN]], %[[LEFT]], %[[RIGHT]]
