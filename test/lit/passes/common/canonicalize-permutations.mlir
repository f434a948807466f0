// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// Between two permutations that undo each other: two operands, one of them by way of another operator, a number, a
// constant without dimensions.
program.constant @half : tensor<f32> = #program.data<f32, [0.5]>
// CHECK-LABEL: func.func @cancels
// CHECK-NEXT: %half = program.get @half
// CHECK-NEXT: %[[A:.*]] = aten.relu %x : tensor<1x3x8x8xf32>
// CHECK-NEXT: %[[B:.*]] = aten.mul.Tensor %[[A]], %half : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x8x8xf32>
// CHECK-NEXT: %[[C:.*]] = aten.add.Tensor %[[B]], %y {alpha = 2} : tensor<1x3x8x8xf32>
// CHECK-NEXT: func.return %[[C]]
func.func @cancels(%x: tensor<1x3x8x8xf32>, %y: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %half = program.get @half : tensor<f32>
  %0 = aten.permute %x {dims = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
  %1 = aten.permute %y {dims = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
  %2 = aten.relu %0 : tensor<1x8x8x3xf32>
  %3 = aten.mul.Tensor %2, %half : (tensor<1x8x8x3xf32>, tensor<f32>) -> tensor<1x8x8x3xf32>
  %4 = aten.add.Tensor %3, %1 {alpha = 2} : tensor<1x8x8x3xf32>
  %5 = aten.permute %4 {dims = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  func.return %5 : tensor<1x3x8x8xf32>
}

// -----

// A value that is used twice, both times between the permutations; a size that is known at run time only.
// CHECK-LABEL: func.func @used_twice
// CHECK-NEXT: %[[A:.*]] = aten.neg %x : tensor<?x4xf32>
// CHECK-NEXT: %[[B:.*]] = aten.sigmoid %[[A]] : tensor<?x4xf32>
// CHECK-NEXT: %[[C:.*]] = aten.mul.Tensor %[[A]], %[[B]] : tensor<?x4xf32>
// CHECK-NEXT: func.return %[[C]]
func.func @used_twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = aten.permute %x {dims = [1, 0]} : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %1 = aten.neg %0 : tensor<4x?xf32>
  %2 = aten.sigmoid %1 : tensor<4x?xf32>
  %3 = aten.mul.Tensor %1, %2 : tensor<4x?xf32>
  %4 = aten.permute %3 {dims = [1, 0]} : (tensor<4x?xf32>) -> tensor<?x4xf32>
  func.return %4 : tensor<?x4xf32>
}

// -----

// What comes with fewer dimensions gets those that it lacks; the permutation of a constant is folded by another pass.
program.constant @scale : tensor<3xf32> = #program.data<f32, [1.0, 2.0, 3.0]>
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  // CHECK: %[[S:.*]] = aten.view %scale {size = [1, 3, 1, 1]}
  // CHECK-NEXT: aten.mul.Tensor %x, %[[S]]
  // CHECK-NOT: aten.permute
  %scale = program.get @scale : tensor<3xf32>
  %0 = aten.permute %x {dims = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
  %1 = aten.mul.Tensor %0, %scale : (tensor<1x8x8x3xf32>, tensor<3xf32>) -> tensor<1x8x8x3xf32>
  %2 = aten.permute %1 {dims = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  func.return %2 : tensor<1x3x8x8xf32>
}

// -----

// Permutations that do not undo each other become one of the operand.
// CHECK-LABEL: func.func @composes
// CHECK-NEXT: %[[P:.*]] = aten.permute %x {dims = [2, 0, 1]} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT: aten.relu %[[P]] : tensor<4x2x3xf32>
func.func @composes(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = aten.permute %x {dims = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = aten.relu %0 : tensor<3x4x2xf32>
  %2 = aten.permute %1 {dims = [1, 2, 0]} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  func.return %2 : tensor<4x2x3xf32>
}

// -----

// No fewer elements would be copied: an operand that is not permuted; what is computed is needed as it is, too; the
// permutation of the operand has another user; an operator that is not pointwise.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: aten.add.Tensor %y, %y
  // CHECK-NEXT: %[[A:.*]] = aten.permute
  %0 = aten.add.Tensor %y, %y : tensor<3x2xf32>
  %1 = aten.permute %0 {dims = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: aten.permute %x
  // CHECK-NEXT: %[[R:.*]] = aten.relu
  // CHECK-NEXT: aten.permute %[[R]]
  %2 = aten.permute %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = aten.relu %2 : tensor<3x2xf32>
  %4 = aten.permute %3 {dims = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %[[C:.*]] = aten.cumsum
  // CHECK-NEXT: aten.permute %[[C]]
  %5 = aten.cumsum %2 {dim = 0} : tensor<3x2xf32>
  %6 = aten.permute %5 {dims = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %1, %4, %3, %6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>
}
