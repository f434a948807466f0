// RUN: et-opt -p 'decompose-traced{preserve=celu,linalg_vector_norm}' --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.celu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.celu %x : tensor<4xf32>

// -----

// Preserved operators are kept inside of what others come down to.
func.func @forward(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = aten.cosine_similarity %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// CHECK:      func.func @forward
// CHECK:      aten.linalg_vector_norm %x
// CHECK:      aten.linalg_vector_norm %y
// CHECK:      func.return
