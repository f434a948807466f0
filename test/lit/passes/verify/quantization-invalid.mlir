// RUN: et-opt -p verify-core-aten --no-verify --split-input-file --verify-diagnostics %s
// RUN: not et-opt -p verify-core-aten --no-verify --split-input-file %s 2>&1 | filecheck %s

program.constant @"fc.scales" : tensor<6xf32> = #program.data<f32, [0.5, 0.0, -1.0, 1.0e-39, 0x7FC00000, 0x7F800000]>
program.constant @"fc.zeros" : tensor<6xi64> = #program.data<i64, [0, 7, -8, 8, 0, -9]>

func.func @forward(%w: tensor<2x6xi8>) -> tensor<2x6xf32> {
  %s = program.get @"fc.scales" : tensor<6xf32>
  %z = program.get @"fc.zeros" : tensor<6xi64>
  // expected-error@below {{[quantization_c1] 'scales' of @fc.scales has 0 at [1], -1 at [2], 1e-39 at [3] and 2 more: not a positive, finite, normal number}}
  // expected-error@below {{[quantization_c2] 'zero_points' of @fc.zeros has 8 at [3], -9 at [5]: not in [-8, 7]}}
  %0 = aten.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 1, quant_min = -8, quant_max = 7, dtype = i8} : (tensor<2x6xi8>, tensor<6xf32>, tensor<6xi64>) -> tensor<2x6xf32>
  func.return %0 : tensor<2x6xf32>
}
// CHECK: [quantization_c1]
// CHECK: fix: calibrate with data that the layer takes
// CHECK: [quantization_c2]
// CHECK: fix: clamp zero points to quant_min and quant_max, or correct the limits

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xi8> {
  // expected-error@below {{[quantization_c1] 'scale' is 1e-40: not a positive, finite, normal number}}
  // expected-error@below {{[quantization_c2] 'zero_point' is 128: not in [-128, 127]}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 1.0e-40, zero_point = 128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  // expected-error@below {{[quantization_c3] the limits 5 and 5 leave no range}}
  %1 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 1.0, zero_point = 5, quant_min = 5, quant_max = 5, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
// CHECK: [quantization_c3]
// CHECK: fix: quant_min is below quant_max

// -----

// Operands of several quantized tensors, by the beginnings of their names.
func.func @forward(%a: tensor<4xi8>) -> tensor<4xi8> {
  // expected-error@below {{[quantization_c2] 'b_zero_point' is 10: not in [0, 9]}}
  // expected-error@below {{[quantization_c1] 'out_scale' is -1: not a positive, finite, normal number}}
  %0 = aten.quantized_decomposed.add %a, %a {a_scale = 0.1, a_zero_point = 0, a_quant_min = -128, a_quant_max = 127, b_scale = 0.1, b_zero_point = 10, b_quant_min = 0, b_quant_max = 9, out_scale = -1.0, out_zero_point = 0, out_quant_min = -128, out_quant_max = 127} : tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

// A type says what the operation that makes the value does.
func.func @forward(%x: tensor<4xf32>) -> tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>> {
  // expected-error@below {{[quantization_c4] a value of type !program.quantized<i8 [-128, 127], tensor, scale = 2, zero_point = 0> is !program.quantized<i8 [-128, 127], tensor, scale = 1, zero_point = 0>}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>>
  func.return %0 : tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>>
}

// -----

// What takes it does, too.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %q = aten.quantized_decomposed.quantize_per_tensor %x {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 1.0, zero_point = 0>>
  // expected-error@below {{[quantization_c4] a value of type !program.quantized<i8 [-128, 127], tensor, scale = 1, zero_point = 0> is taken as !program.quantized<i8 [-128, 127], tensor, scale = 3, zero_point = 0>}}
  %0 = aten.quantized_decomposed.dequantize_per_tensor %q {scale = 3.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 1.0, zero_point = 0>>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Weights, of which the operation that restores them says it, inputs, and what moves integers.
program.constant @scales : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @weight : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, 5, 6, 7, -7]>

// expected-error@below {{[quantization_c4] a value of type !program.quantized<i8 [-128, 127], tensor, scale = 1, zero_point = 9> is !program.quantized<i8 [-128, 127], tensor, scale = 1, zero_point = 0>}}
func.func @forward(%x: tensor<4xf32>, %i: tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 1.0, zero_point = 9>>) -> (tensor<2x4xf32>, tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 1.0, zero_point = 5>>, tensor<4xf32>) {
  // expected-error@below {{[quantization_c5] type tensor<2x4x!program.quantized<i8 [-127, 127], channel 1, scale = [0.5, 0.25], zero_point = 0>>: 'scale' has 2 numbers for 4}}
  %w = program.get @weight : tensor<2x4x!program.quantized<i8 [-127, 127], channel 1, scale = [0.5, 0.25], zero_point = 0>>
  %s = program.get @scales : tensor<2xf32>
  %0 = aten.quantized_decomposed.dequantize_per_channel %w, %s, none {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4x!program.quantized<i8 [-127, 127], channel 1, scale = [0.5, 0.25], zero_point = 0>>, tensor<2xf32>) -> tensor<2x4xf32>
  %q = aten.quantized_decomposed.quantize_per_tensor %x {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  // expected-error@below {{[quantization_c4] a value of type !program.quantized<i8 [-128, 127], tensor, scale = 1, zero_point = 5> is !program.quantized<i8 [-128, 127], tensor, scale = 1, zero_point = 0>}}
  %v = aten.view %q {size = [2, 2]} : (tensor<4xi8>) -> tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 1.0, zero_point = 5>>
  %1 = aten.quantized_decomposed.dequantize_per_tensor %i {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 1.0, zero_point = 9>>) -> tensor<4xf32>
  func.return %0, %v, %1 : tensor<2x4xf32>, tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 1.0, zero_point = 5>>, tensor<4xf32>
}

// -----

// Types of values that nothing quantizes or dequantizes are of their shapes and storage.
// expected-error@below {{[quantization_c5] type tensor<4x!program.quantized<i8 [-128, 127], channel 1, scale = 1, zero_point = 0>>: channels are dimension 1 of 1}}
// expected-error@below {{[quantization_c5] type tensor<4x6x!program.quantized<i8 [-8, 7], group 4, scale = 1, zero_point = 0>>: groups of 4 do not divide rows of 6}}
// expected-error@below {{[quantization_c5] type tensor<2x4x!program.quantized<i8 [-128, 127], token, scale = [1, 2, 3], zero_point = 0>>: 'scale' has 3 numbers for 2}}
func.func @forward(%x: tensor<4x!program.quantized<i8 [-128, 127], channel 1, scale = 1.0, zero_point = 0>>, %y: tensor<4x6x!program.quantized<i8 [-8, 7], group 4, scale = 1.0, zero_point = 0>>, %z: tensor<2x4x!program.quantized<i8 [-128, 127], token, scale = [1.0, 2.0, 3.0], zero_point = 0>>) {
  func.return
}

// -----

program.constant @weight : tensor<2xi8> = #program.data<i8, [1, 2]>

func.func @forward() -> tensor<2x!program.quantized<ui8 [0, 255], tensor, scale = 1.0, zero_point = 0>> {
  // expected-error@below {{[program_c3] has type tensor<2x!program.quantized<ui8 [0, 255], tensor, scale = 1, zero_point = 0>>, but @weight is tensor<2xi8>}}
  %0 = program.get @weight : tensor<2x!program.quantized<ui8 [0, 255], tensor, scale = 1.0, zero_point = 0>>
  func.return %0 : tensor<2x!program.quantized<ui8 [0, 255], tensor, scale = 1.0, zero_point = 0>>
}

// -----

// An operation with numbers that no type has contradicts every type.
func.func @forward(%x: tensor<4xf32>) -> tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>> {
  // expected-error@below {{[quantization_c2] 'zero_point' is 300: not in [-128, 127]}}
  // expected-error@below {{[quantization_c4] a value of type !program.quantized<i8 [-128, 127], tensor, scale = 2, zero_point = 0> is of no type: [quantized_c1] the zero point 300 is not in [-128, 127]}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 2.0, zero_point = 300, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>>
  func.return %0 : tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 2.0, zero_point = 0>>
}
