// RUN: et-opt --load %dialect --verify-diagnostics %s

func.func @types(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected from variable 'T', but got tensor<2xf32>}}
  %0 = "fma.fma"(%x, %x, %y) : (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
