// RUN: et-opt -p form-kernels,choose-algorithms --split-input-file %s | filecheck %s

// Of the layers of a ResNet, those of large images are computed by F(4, 3), then F(2, 3), and small ones by the definition.
// CHECK-LABEL: func.func @large
// CHECK:         native.kernel "winograd_4"
program.parameter @w : tensor<64x64x3x3xf32> = #program.data<f32, 36864, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @large(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = program.get @w : tensor<64x64x3x3xf32>
  %0 = edge.convolution %x, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  func.return %0 : tensor<1x64x56x56xf32>
}

// -----

// CHECK-LABEL: func.func @middle
// CHECK:         native.kernel "winograd_2"
program.parameter @w : tensor<256x256x3x3xf32> = #program.data<f32, 589824, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @middle(%x: tensor<1x256x14x14xf32>) -> tensor<1x256x14x14xf32> {
  %w = program.get @w : tensor<256x256x3x3xf32>
  %0 = edge.convolution %x, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x256x14x14xf32>, tensor<256x256x3x3xf32>) -> tensor<1x256x14x14xf32>
  func.return %0 : tensor<1x256x14x14xf32>
}

// -----

// A step of two, and few channels.
// CHECK-LABEL: func.func @others
// CHECK:         native.kernel "convolution"
// CHECK:         native.kernel "convolution"
program.parameter @v : tensor<64x3x3x3xf32> = #program.data<f32, 1728, "v", "0000000000000000000000000000000000000000000000000000000000000000">
program.parameter @w : tensor<64x64x3x3xf32> = #program.data<f32, 36864, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @others(%x: tensor<1x3x56x56xf32>) -> tensor<1x64x28x28xf32> {
  %v = program.get @v : tensor<64x3x3x3xf32>
  %w = program.get @w : tensor<64x64x3x3xf32>
  %0 = edge.convolution %x, %v {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x56x56xf32>, tensor<64x3x3x3xf32>) -> tensor<1x64x56x56xf32>
  %1 = edge.convolution %0, %w {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32>
  func.return %1 : tensor<1x64x28x28xf32>
}
