// RUN: et-opt --split-input-file --verify-diagnostics %s

// expected-error@below {{[quantized_c1] the limits [-129, 127] are not within i8}}
func.func @limits(%x: tensor<2x!program.quantized<i8 [-129, 127], tensor, scale = 1, zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{[quantized_c1] i64 is not a type of quantized numbers}}
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

// -----

// expected-error@below {{expected the smallest and the largest integer, not 1 numbers}}
func.func @one_limit(%x: tensor<2x!program.quantized<i8 [127], tensor, scale = 1, zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{expected numbers, or '?' for those of run time}}
func.func @no_scales(%x: tensor<2x!program.quantized<i8 [-8, 7], channel 0, scale = [], zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{[quantized_c1] a scale is above zero and finite, not inf}}
func.func @large_integer(%x: tensor<2x!program.quantized<i8 [-8, 7], tensor, scale = 100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000, zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{[quantized_c1] a scale is above zero and finite, not inf}}
func.func @large_integers(%x: tensor<2x!program.quantized<i8 [-8, 7], channel 0, scale = [1, 100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000], zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{expected a count above 8 before 'in', not inf}}
func.func @infinite_count(%x: tensor<2x!program.quantized<i8 [-8, 7], channel 0, scale = 1.0e999 in [0.5, 1.0] "6b86b273", zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{expected a count above 8 before 'in', not 2}}
func.func @few(%x: tensor<2x!program.quantized<i8 [-8, 7], channel 0, scale = 2 in [0.5, 1.0] "6b86b273", zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{expected the least and the largest number}}
func.func @range(%x: tensor<2x!program.quantized<i8 [-8, 7], channel 0, scale = 9 in [0.5] "6b86b273", zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{expected the least and the largest number}}
func.func @order(%x: tensor<2x!program.quantized<i8 [-8, 7], channel 0, scale = 9 in [1.0, 0.5] "6b86b273", zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{expected 8 hexadecimal digits of the hash}}
func.func @hash(%x: tensor<2x!program.quantized<i8 [-8, 7], channel 0, scale = 9 in [0.5, 1.0] "hash", zero_point = 0>>) {
  func.return
}

// -----

// expected-error@below {{[quantized_c1] a zero point is an integer, not 0.5}}
func.func @part(%x: tensor<2x!program.quantized<i8 [-8, 7], tensor, scale = 1, zero_point = 0.5>>) {
  func.return
}

// -----

// expected-error@below {{[global_c2] @cache has elements of type !program.quantized<i8 [-8, 7], tensor, scale = 1, zero_point = 0>: declare it with i8, and give this type to the operations that read it}}
program.buffer mutable @cache : tensor<2x!program.quantized<i8 [-8, 7], tensor, scale = 1, zero_point = 0>>
