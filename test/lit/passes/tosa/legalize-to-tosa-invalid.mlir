// RUN: et-opt -p legalize-to-tosa --verify-diagnostics %s

func.func @refused(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{edge.acos has no counterpart in TOSA: there is no rule for the operator}}
  %0 = edge.acos %x : tensor<2x3xf32>
  // expected-error@+1 {{edge.pow.Tensor_Scalar has no counterpart in TOSA: the exponent 9.0}}
  %1 = edge.pow.Tensor_Scalar %0 {exponent = 9.0} : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
