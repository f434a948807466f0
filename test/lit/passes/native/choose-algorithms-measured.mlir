// RUN: et-opt -p choose-algorithms %s | filecheck %s

// Measured times take the place of estimates, by which the kernel would be "winograd_4".
// CHECK:     native.kernel "winograd_2"(%x, %w) :
// CHECK-NOT: native.seconds
program.parameter @w : tensor<64x64x3x3xf32> = #program.data<f32, 36864, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @measured(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = program.get @w : tensor<64x64x3x3xf32>
  %0 = native.kernel "convolution"(%x, %w) {native.seconds = {convolution = 3.0e-03 : f64, winograd_2 = 1.0e-03 : f64, winograd_4 = 2.0e-03 : f64}} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%x_1: tensor<1x64x56x56xf32>, %w_1: tensor<64x64x3x3xf32>):
    %1 = edge.convolution %x_1, %w_1 {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
    native.yield %1 : tensor<1x64x56x56xf32>
  }
  func.return %0 : tensor<1x64x56x56xf32>
}
