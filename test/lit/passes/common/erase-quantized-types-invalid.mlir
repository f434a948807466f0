// RUN: et-opt -p erase-quantized-types --split-input-file --verify-diagnostics %s
// RUN: et-opt -p canonicalize --split-input-file --verify-diagnostics %s

// What is wrong is not dropped.
func.func @forward(%x: tensor<4xf32>) -> tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>> {
  // expected-error@below {{[quantization_c4] a value of type !program.quantized<i8 [-128, 127], tensor, scale = 2, zero_point = 0> is !program.quantized<i8 [-128, 127], tensor, scale = 1, zero_point = 0>}}
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>>
  func.return %0 : tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>>
}
