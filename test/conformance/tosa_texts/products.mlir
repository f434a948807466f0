func.func @main(%x: tensor<2x3x4xi8>, %y: tensor<2x4x5xi8>, %u: tensor<9xi32>, %v: tensor<9xi32>) -> (tensor<2x3x5xi32>, tensor<9xi32>) {
  %a = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
  %b = "tosa.const"() <{values = dense<127> : tensor<1xi8>}> : () -> tensor<1xi8>
  %c = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = "tosa.matmul"(%x, %y, %a, %b) : (tensor<2x3x4xi8>, tensor<2x4x5xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3x5xi32>
  %1 = "tosa.mul"(%u, %v, %c) : (tensor<9xi32>, tensor<9xi32>, tensor<1xi8>) -> tensor<9xi32>
  func.return %0, %1 : tensor<2x3x5xi32>, tensor<9xi32>
}
