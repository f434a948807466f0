// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// A contraction is one product; what is in both operands and in the result is its batch.
func.func @forward(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32> {
  %0 = aten.einsum [%q, %k] {equation = "bhid,bhjd->bhij"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  func.return %0 : tensor<2x3x4x6xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %q {size = [6, 4, 5]} : (tensor<2x3x4x5xf32>) -> tensor<6x4x5xf32>
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %k {dims = [0, 1, 3, 2]} : (tensor<2x3x6x5xf32>) -> tensor<2x3x5x6xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[PERMUTE]] {size = [6, 5, 6]} : (tensor<2x3x5x6xf32>) -> tensor<6x5x6xf32>
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %[[VIEW]], %[[VIEW2]] : (tensor<6x4x5xf32>, tensor<6x5x6xf32>) -> tensor<6x4x6xf32>
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[BMM]] {size = [2, 3, 4, 6]} : (tensor<6x4x6xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return %[[VIEW3]]

// -----

// Where nothing is contracted, elements are multiplied.
func.func @forward(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = aten.einsum [%x, %y] {equation = "i,j->ij"} : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [2, 1]} : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %y {size = [1, 3]} : (tensor<3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[VIEW]], %[[VIEW2]] : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %[[MUL]]

// -----

// Labels of one operand alone that the result does not have are summed first.
func.func @forward(%x: tensor<2x3xf32>, %y: tensor<3x4x5xf32>) -> tensor<5x2xf32> {
  %0 = aten.einsum [%x, %y] {equation = "ij,jkl->li"} : (tensor<2x3xf32>, tensor<3x4x5xf32>) -> tensor<5x2xf32>
  func.return %0 : tensor<5x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %y {dim = [1], dtype = f32} : (tensor<3x4x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %x, %[[SUM]] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %[[MM]] {dims = [1, 0]} : (tensor<2x5xf32>) -> tensor<5x2xf32>
// CHECK-NEXT: func.return %[[PERMUTE]]

// -----

// Diagonals are left to torch.
func.func @forward(%x: tensor<3x3xf32>) -> tensor<3xf32> {
  %0 = aten.einsum [%x] {equation = "ii->i"} : (tensor<3x3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EINSUM:.*]] = aten.einsum [%x] {equation = "ii->i"} : (tensor<3x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %[[EINSUM]]

// -----

// A label twice in one operand is a diagonal: torch's decomposition takes it.
func.func @forward(%tensors: tensor<3x3xf32>) -> tensor<3xf32> {
  %0 = aten.einsum [%tensors] {equation = "ii->i"} : (tensor<3x3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EINSUM:.*]] = aten.einsum [%tensors] {equation = "ii->i"}
// CHECK-NEXT: func.return %[[EINSUM]]
