// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// CHECK-LABEL: func.func @there_and_back
func.func @there_and_back(%x: tensor<2x3xf32>) -> tensor<2x3xf16> {
  // CHECK-NEXT: %{{.*}} = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %{{.*}} = edge.quantized_decomposed.dequantize_per_tensor %{{.*}} {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8, out_dtype = f16} : (tensor<2x3xi8>) -> tensor<2x3xf16>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8, out_dtype = f16} : (tensor<2x3xi8>) -> tensor<2x3xf16>
  func.return %1 : tensor<2x3xf16>
}

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?x3xf32>) -> tensor<?x3xi8> {
  // CHECK-NEXT: %{{.*}}, %{{.*}} = edge.quantized_decomposed.choose_qparams.tensor %x {quant_min = -128, quant_max = 127, eps = 1.0e-05, dtype = i8} : (tensor<?x3xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  %0, %1 = edge.quantized_decomposed.choose_qparams.tensor %x {quant_min = -128, quant_max = 127, eps = 1.0e-05, dtype = i8} : (tensor<?x3xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  // CHECK-NEXT: edge.quantized_decomposed.quantize_per_tensor.tensor %x
  %2 = edge.quantized_decomposed.quantize_per_tensor.tensor %x, %0, %1 {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?x3xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<?x3xi8>
  func.return %2 : tensor<?x3xi8>
}

// CHECK-LABEL: func.func @without_zero_points
func.func @without_zero_points(%w: tensor<5x4xui8>, %s: tensor<5x2xf32>, %i: tensor<2xi64>) -> tensor<2x8xf32> {
  // CHECK-NEXT: edge.quantized_decomposed.embedding_4bit %w, %s, none, %i {weight_quant_min = -8, weight_quant_max = 7}
  %0 = edge.quantized_decomposed.embedding_4bit %w, %s, none, %i {weight_quant_min = -8, weight_quant_max = 7} : (tensor<5x4xui8>, tensor<5x2xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}
