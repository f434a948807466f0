// RUN: et-opt --split-input-file --verify-diagnostics %s

func.func @operand_c3(%x: tensor<4xf64>) {
  // expected-error@+1 {{[operand_c3] argument 'input': expected float32 or float16 or bfloat16, got float64}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf64>) -> tensor<4xi8>
  func.return
}

// -----

func.func @operand_c3_limits(%x: tensor<4xf32>) {
  // expected-error@+1 {{[operand_c3] argument 'quant_max': expected a number in [-128, 127], got 255}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = 0, quant_max = 255, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return
}

// -----

func.func @result_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{[result_c2] result types are tensor<4xui8>, expected tensor<4xi8> for these operands}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xui8>
  func.return
}

// -----

func.func @property_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[property_c1] missing property 'dtype' of schema type ScalarType}}
  %0 = aten.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127} : (tensor<4xf32>) -> tensor<4xi8>
  func.return
}
