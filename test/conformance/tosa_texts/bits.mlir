func.func @main(%x: tensor<9xi32>, %y: tensor<9xi32>) -> (tensor<9xi32>, tensor<9xi32>, tensor<9xi32>, tensor<9xi32>, tensor<9xi32>) {
  %0 = "tosa.bitwise_and"(%x, %y) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
  %1 = "tosa.bitwise_xor"(%x, %y) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>
  %2 = "tosa.bitwise_not"(%x) : (tensor<9xi32>) -> tensor<9xi32>
  %3 = "tosa.clz"(%x) : (tensor<9xi32>) -> tensor<9xi32>
  %4 = "tosa.abs"(%x) : (tensor<9xi32>) -> tensor<9xi32>
  func.return %0, %1, %2, %3, %4 : tensor<9xi32>, tensor<9xi32>, tensor<9xi32>, tensor<9xi32>, tensor<9xi32>
}
