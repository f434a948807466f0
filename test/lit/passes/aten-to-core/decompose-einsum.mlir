// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// A contraction is one product; what is in both operands and in the result is its batch.

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
