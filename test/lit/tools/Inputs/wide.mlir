// A convolution whose taps meet 16 by 9 by 56 by 56 numbers.
func.func @forward(%x: tensor<1x16x56x56xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x56x56xf32> {
  %0 = edge.convolution %x, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x16x56x56xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x56x56xf32>
  func.return %0 : tensor<1x16x56x56xf32>
}
