// RUN: et-opt -p form-kernels,choose-algorithms --split-input-file %s | filecheck %s
// RUN: et-opt -p form-kernels,choose-algorithms{algorithm=winograd_2} --split-input-file %s | filecheck %s --check-prefix=TWO
// RUN: et-opt -p form-kernels,choose-algorithms{algorithm=direct} --split-input-file %s | filecheck %s --check-prefix=DIRECT

// Many pixels are worth the transforms of larger tiles, few are not.
// CHECK-LABEL: func.func @large
// CHECK:         native.kernel "winograd_4"
// TWO-LABEL:   func.func @large
// TWO:           native.kernel "winograd_2"
// DIRECT-LABEL: func.func @large
// DIRECT:        native.kernel "convolution"
program.parameter @w : tensor<64x64x3x3xf32> = #program.data<f32, 36864, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @large(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = program.get @w : tensor<64x64x3x3xf32>
  %0 = edge.convolution %x, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  func.return %0 : tensor<1x64x56x56xf32>
}

// -----

// CHECK-LABEL: func.func @point
// CHECK:         native.kernel "convolution"
program.parameter @w : tensor<64x64x3x3xf32> = #program.data<f32, 36864, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @point(%x: tensor<1x64x1x1xf32>) -> tensor<1x64x1x1xf32> {
  %w = program.get @w : tensor<64x64x3x3xf32>
  %0 = edge.convolution %x, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x64x1x1xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x1x1xf32>
  func.return %0 : tensor<1x64x1x1xf32>
}

// -----

// A larger step is computed directly, whatever is asked for.
// CHECK-LABEL: func.func @strided
// CHECK:         native.kernel "convolution"
// TWO-LABEL:   func.func @strided
// TWO:           native.kernel "convolution"
program.parameter @w : tensor<64x64x3x3xf32> = #program.data<f32, 36864, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @strided(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x28x28xf32> {
  %w = program.get @w : tensor<64x64x3x3xf32>
  %0 = edge.convolution %x, %w {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32>
  func.return %0 : tensor<1x64x28x28xf32>
}
