func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = aten.relu %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
