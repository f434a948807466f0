// RUN: et-opt -p verify-edge %s | filecheck %s

program.constant @half : tensor<f32> = #program.data<f32, [0.5]>

// CHECK-LABEL: func.func @forward
// CHECK: edge.mul.Tensor
func.func @forward(%x: tensor<1x2x3x4xf32>, %n: i64) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>> {
  %half = program.get @half : tensor<f32>
  %0 = edge.mul.Tensor %x, %half : (tensor<1x2x3x4xf32>, tensor<f32>) -> tensor<1x2x3x4xf32>
  %1 = edge.add.Scalar %0 {other = %n} : (tensor<1x2x3x4xf32>, i64) -> tensor<1x2x3x4xf32>
  %2 = edge.dim_order_ops._clone_dim_order %1 {dim_order = [0, 2, 3, 1]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  %3 = edge.relu %2 : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  func.return %3 : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
}
