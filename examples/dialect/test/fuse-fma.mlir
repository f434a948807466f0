// RUN: et-opt --load %dialect -p fuse-fma --split-input-file %s | filecheck %s

// CHECK-LABEL: @fires
// CHECK-NEXT:    fma.fma %x, %y, %x : tensor<4xf32>
func.func @fires(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.mul.Tensor %x, %y : tensor<4xf32>
  %1 = edge.add.Tensor %0, %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// The product is used twice.
// CHECK-LABEL: @does_not_fire
// CHECK-NOT:     fma.fma
func.func @does_not_fire(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.mul.Tensor %x, %x : tensor<4xf32>
  %1 = edge.add.Tensor %0, %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
