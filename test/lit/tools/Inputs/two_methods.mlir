func.func @negates(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = edge.neg %x : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
func.func @rectifies(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = edge.relu %x : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
