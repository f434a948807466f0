// RUN: et-opt -p legalize-to-tosa --split-input-file --verify-diagnostics %s

func.func @refused(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{edge.acos has no counterpart in TOSA: there is no rule for the operator}}
  %0 = edge.acos %x : tensor<2x3xf32>
  // expected-error@+1 {{edge.pow.Tensor_Scalar has no counterpart in TOSA: the exponent 9.0}}
  %1 = edge.pow.Tensor_Scalar %0 {exponent = 9.0} : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// Integers are compared with whole numbers only.
func.func @fraction(%x: tensor<3xi32>) -> tensor<3xi1> {
  // expected-error@+1 {{edge.ge.Scalar has no counterpart in TOSA: the number 2.5, with elements of INT32}}
  %0 = edge.ge.Scalar %x {other = 2.5} : (tensor<3xi32>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}

// -----

// A formula's numbers are to be finite in half precision.
func.func @half(%x: tensor<3xf16>) -> tensor<3xf16> {
  // expected-error@+1 {{edge.acosh has no counterpart in TOSA: the number 1073741824.0, with elements of FP16}}
  %0 = edge.acosh %x : tensor<3xf16>
  func.return %0 : tensor<3xf16>
}
