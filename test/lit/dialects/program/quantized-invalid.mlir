// RUN: et-opt --split-input-file --verify-diagnostics %s

// expected-error@below {{[quantized_c1] the limits [-129, 127] are not within i8}}
func.func @limits(%x: tensor<2x!program.quantized<i8 [-129, 127], tensor, scale = 1, zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{[quantized_c1] i64 is no type of quantized numbers}}
func.func @element(%x: tensor<2x!program.quantized<i64 [-129, 127], tensor, scale = 1, zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{[quantized_c1] a scale is above zero and finite, not -1}}
func.func @scale(%x: tensor<2x!program.quantized<i8 [-128, 127], channel 0, scale = [1, -1], zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{[quantized_c1] the zero point 8 is not in [-8, 7]}}
func.func @zero_point(%x: tensor<2x!program.quantized<i8 [-8, 7], group 32, scale = 96 in [0.5, 1.0] "6b86b273", zero_point = 8>>) {
  func.return
}

// -----

// expected-error@below {{expected one of tensor, channel, group, token, not row}}
func.func @granularity(%x: tensor<2x!program.quantized<i8 [-8, 7], row, scale = ?, zero_point = ?>>) {
  func.return
}
