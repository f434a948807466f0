// RUN: et-opt -p propagate-dim-order,dce --split-input-file %s | filecheck %s

program.parameter @w : tensor<2x2x1x1xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
// CHECK-LABEL: func.func @flows
// CHECK-SAME: -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
func.func @flows(%x: tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x3x4xf32> {
  %w = program.get @w : tensor<2x2x1x1xf32>
  %0 = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 1, 2, 3]} : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x3x4xf32>
  // CHECK: %[[W:.*]] = edge.dim_order_ops._clone_dim_order %w {dim_order = [0, 2, 3, 1]}
  // CHECK-NEXT: %[[Y:.*]] = edge.convolution %x, %[[W]] {
  %1 = edge.convolution %0, %w, none {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x2x3x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x4xf32>
  // CHECK-NEXT: %[[Z:.*]] = edge.mul.Tensor %[[Y]], %[[Y]]
  %2 = edge.mul.Tensor %1, %1 : tensor<1x2x3x4xf32>
  // CHECK-NEXT: func.return %[[Z]]
  func.return %2 : tensor<1x2x3x4xf32>
}

// -----

// It ends where an operator needs contiguous tensors; broadcasting does.
// CHECK-LABEL: func.func @ends
func.func @ends(%x: tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>, %s: tensor<2x1x1xf32>) -> tensor<1x2x3x4xf32> {
  %0 = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 1, 2, 3]} : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x3x4xf32>
  // CHECK-NEXT: %[[R:.*]] = edge.relu %x : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  %1 = edge.relu %0 : tensor<1x2x3x4xf32>
  // CHECK-NEXT: %[[C:.*]] = edge.dim_order_ops._clone_dim_order %[[R]] {dim_order = [0, 1, 2, 3]}
  // CHECK-NEXT: edge.mul.Tensor %[[C]], %s
  %2 = edge.mul.Tensor %1, %s : (tensor<1x2x3x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x4xf32>
  func.return %2 : tensor<1x2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @contiguous
// CHECK-NEXT: edge.relu %x : tensor<1x2x3x4xf32>
func.func @contiguous(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %0 = edge.relu %x : tensor<1x2x3x4xf32>
  func.return %0 : tensor<1x2x3x4xf32>
}
