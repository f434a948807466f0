// RUN: et-opt -p form-kernels,assign-layouts --split-input-file %s | filecheck %s

// Images have their channels innermost between kernels; a permutation of these is a view, and elements move at the borders.
// CHECK-LABEL: func.func @image
// CHECK:         %0 = native.kernel "transpose"(%x) : (tensor<1x8x4x5xf32>) -> tensor<1x8x4x5xf32, #edge.dim_order<0, 2, 3, 1>>
// CHECK:         %1 = native.kernel "convolution"(%0, %w) : (tensor<1x8x4x5xf32, #edge.dim_order<0, 2, 3, 1>>, tensor<6x8x1x1xf32>) -> tensor<1x6x4x5xf32, #edge.dim_order<0, 2, 3, 1>>
// CHECK:           edge.convolution {{.*}} -> tensor<1x6x4x5xf32>
// CHECK:         native.kernel "transpose"(%b)
// CHECK:         native.kernel "pointwise"(%1, {{.*}}) : ({{.*}}) -> tensor<1x6x4x5xf32, #edge.dim_order<0, 2, 3, 1>>
// CHECK:         [[VIEW:%.*]] = native.view %1 : tensor<1x6x4x5xf32, #edge.dim_order<0, 2, 3, 1>> -> tensor<1x4x5x6xf32>
// CHECK-NEXT:    [[BACK:%.*]] = native.kernel "transpose"({{.*}}) : (tensor<1x6x4x5xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x6x4x5xf32>
// CHECK:         func.return [[BACK]], [[VIEW]]
program.parameter @w : tensor<6x8x1x1xf32> = #program.data<f32, 48, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @image(%x: tensor<1x8x4x5xf32>, %b: tensor<1x6x4x5xf32>) -> (tensor<1x6x4x5xf32>, tensor<1x4x5x6xf32>) {
  %w = program.get @w : tensor<6x8x1x1xf32>
  %0 = edge.convolution %x, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x8x4x5xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x4x5xf32>
  %1 = edge.add.Tensor %0, %b : (tensor<1x6x4x5xf32>, tensor<1x6x4x5xf32>) -> tensor<1x6x4x5xf32>
  %2 = edge.permute_copy %0 {dims = [0, 2, 3, 1]} : (tensor<1x6x4x5xf32>) -> tensor<1x4x5x6xf32>
  func.return %1, %2 : tensor<1x6x4x5xf32>, tensor<1x4x5x6xf32>
}

// -----

// What is contiguous stays so, and a reshape is a view.
// CHECK-LABEL: func.func @matrix
// CHECK-NEXT:    %0 = native.view %x : tensor<2x6xf32> -> tensor<3x4xf32>
// CHECK-NEXT:    native.kernel "pointwise"(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NOT:     transpose
func.func @matrix(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = edge.view_copy %x {size = [3, 4]} : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %1 = edge.relu %0 : tensor<3x4xf32>
  func.return %1 : tensor<3x4xf32>
}

// -----

// A convolution reads few channels in contiguous order, one after the other; its result has channels innermost.
// CHECK-LABEL: func.func @stem
// CHECK-NOT:     native.kernel "transpose"
// CHECK:         %0 = native.kernel "convolution"(%x, %w) : (tensor<1x3x4x5xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x2x3xf32, #edge.dim_order<0, 2, 3, 1>>
program.parameter @w : tensor<6x3x3x3xf32> = #program.data<f32, 162, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @stem(%x: tensor<1x3x4x5xf32>) -> tensor<1x6x2x3xf32> {
  %w = program.get @w : tensor<6x3x3x3xf32>
  %0 = edge.convolution %x, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x4x5xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x2x3xf32>
  func.return %0 : tensor<1x6x2x3xf32>
}
