func.func @forward(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %0 = edge.avg_pool2d %x {kernel_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %1 = edge.sigmoid %0 : tensor<1x2x2x2xf32>
  %2 = edge.mul.Tensor %0, %1 : tensor<1x2x2x2xf32>
  func.return %2 : tensor<1x2x2x2xf32>
}
