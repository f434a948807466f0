// RUN: et-opt --split-input-file --verify-diagnostics %s

// What the operators themselves say of their parameters, at any level.

func.func @limits(%x: tensor<2x6xf32>) -> tensor<2x6xi8> {
  // expected-error@below {{[operand_c3] argument 'quant_min': expected a number in [-128, 127], got -129}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -129, quant_max = 127, dtype = i8} : (tensor<2x6xf32>) -> tensor<2x6xi8>
  func.return %0 : tensor<2x6xi8>
}

// -----

func.func @axis(%x: tensor<2x6xf32>, %s: tensor<6xf32>, %z: tensor<6xi64>) -> tensor<2x6xi8> {
  // expected-error@below {{[operand_c3] argument 'axis': expected a dimension of a tensor of rank 2, got 2}}
  %0 = aten.quantized_decomposed.quantize_per_channel %x, %s, %z {axis = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x6xf32>, tensor<6xf32>, tensor<6xi64>) -> tensor<2x6xi8>
  func.return %0 : tensor<2x6xi8>
}

// -----

func.func @channels(%x: tensor<2x6xf32>, %s: tensor<6xf32>, %z: tensor<6xi64>) -> tensor<2x6xi8> {
  // expected-error@below {{[operand_c3] argument 'scales': expected shape [2], that of dimension 0, got [6]}}
  %0 = aten.quantized_decomposed.quantize_per_channel %x, %s, %z {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x6xf32>, tensor<6xf32>, tensor<6xi64>) -> tensor<2x6xi8>
  func.return %0 : tensor<2x6xi8>
}

// -----

func.func @rows(%x: tensor<2x6xf32>, %s: tensor<3x1xf32>, %z: tensor<3x1xi64>) -> tensor<2x6xi8> {
  // expected-error@below {{[operand_c3] argument 'scales': expected 2 elements, got [3, 1]}}
  %0 = aten.quantized_decomposed.quantize_per_token %x, %s, %z {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x6xf32>, tensor<3x1xf32>, tensor<3x1xi64>) -> tensor<2x6xi8>
  func.return %0 : tensor<2x6xi8>
}

// -----

func.func @groups(%w: tensor<2x6xi8>, %s: tensor<2x2xf32>) -> tensor<2x6xf32> {
  // expected-error@below {{[operand_c3] argument 'group_size': expected a divisor of 6, got 4}}
  %0 = aten.quantized_decomposed.dequantize_per_channel_group %w, %s, none {quant_min = -8, quant_max = 7, dtype = i8, group_size = 4, output_dtype = f32} : (tensor<2x6xi8>, tensor<2x2xf32>) -> tensor<2x6xf32>
  func.return %0 : tensor<2x6xf32>
}

// -----

func.func @group_scales(%w: tensor<2x6xi8>, %s: tensor<2x3xf32>) -> tensor<2x6xf32> {
  // expected-error@below {{[operand_c3] argument 'scales': expected 4 elements, got [2, 3]}}
  %0 = aten.quantized_decomposed.dequantize_per_channel_group %w, %s, none {quant_min = -8, quant_max = 7, dtype = i8, group_size = 3, output_dtype = f32} : (tensor<2x6xi8>, tensor<2x3xf32>) -> tensor<2x6xf32>
  func.return %0 : tensor<2x6xf32>
}
