// RUN: et-opt -p 'tabulate-pointwise{target="et-vm"}' --split-input-file %s | filecheck %s
// RUN: et-opt -p tabulate-pointwise --split-input-file %s | filecheck %s --check-prefix=STOCK

// Numbers of one scale to those of another: every second result of -128 to 127.
// CHECK: program.constant @i8_range_quantized_decomposed : tensor<256xi8> = #program.data<i8, 256
// CHECK-LABEL: func.func @requantize
// STOCK-LABEL: func.func @requantize
func.func @requantize(%x: tensor<2x4xi8>) -> tensor<2x4xi8> {
  // CHECK-NEXT: %[[G:.*]] = program.get @i8_range_quantized_decomposed : tensor<256xi8>
  // CHECK-NEXT: edge.integer.lookup %x, %[[G]] : (tensor<2x4xi8>, tensor<256xi8>) -> tensor<2x4xi8>
  // STOCK-NEXT: edge.quantized_decomposed.dequantize_per_tensor
  // STOCK-NEXT: edge.quantized_decomposed.quantize_per_tensor
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.quantize_per_tensor %0 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %1 : tensor<2x4xi8>
}

// -----

// A function of several operators, of one tensor and a constant.
program.constant @six : tensor<f32> = #program.data<f32, [6.0]>

// CHECK-LABEL: func.func @hardswish
func.func @hardswish(%x: tensor<?x4xi8>) -> tensor<?x4xi8> {
  // CHECK-NEXT: %[[G:.*]] = program.get
  // CHECK-NEXT: %[[L:.*]] = edge.integer.lookup %x, %[[G]] : (tensor<?x4xi8>, tensor<256xi8>) -> tensor<?x4xi8>
  // CHECK-NEXT: func.return %[[L]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.125, zero_point = 7, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?x4xi8>) -> tensor<?x4xf32>
  %1 = edge.add.Scalar %0 {other = 3} : tensor<?x4xf32>
  %2 = edge.hardtanh %1 {min_val = 0.0, max_val = 6.0} : tensor<?x4xf32>
  %3 = edge.mul.Tensor %0, %2 : tensor<?x4xf32>
  %six = program.get @six : tensor<f32>
  %4 = edge.div.Tensor %3, %six : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %5 = edge.quantized_decomposed.quantize_per_tensor %4 {scale = 0.0625, zero_point = -9, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?x4xf32>) -> tensor<?x4xi8>
  func.return %5 : tensor<?x4xi8>
}

// -----

// Back to back: one table, of roundings one after the other.
// CHECK-LABEL: func.func @twice
func.func @twice(%x: tensor<2x4xi8>) -> tensor<2x4xi8> {
  // CHECK-NEXT: %[[G:.*]] = program.get
  // CHECK-NEXT: %[[L:.*]] = edge.integer.lookup %x, %[[G]]
  // CHECK-NEXT: func.return %[[L]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.quantize_per_tensor %0 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %2 = edge.quantized_decomposed.dequantize_per_tensor %1 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %3 = edge.sigmoid %2 : tensor<2x4xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.00390625, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %4 : tensor<2x4xi8>
}

// -----

// The first is needed too.
// CHECK-LABEL: func.func @both
func.func @both(%x: tensor<2x4xi8>) -> (tensor<2x4xi8>, tensor<2x4xi8>) {
  // CHECK: %[[L:.*]] = edge.integer.lookup %x
  // CHECK: %[[M:.*]] = edge.integer.lookup %[[L]]
  // CHECK-NEXT: func.return %[[L]], %[[M]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.quantize_per_tensor %0 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %2 = edge.quantized_decomposed.dequantize_per_tensor %1 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 2.0, zero_point = 1, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %1, %3 : tensor<2x4xi8>, tensor<2x4xi8>
}

// -----

// Functions of two tensors, of neighbours, of numbers that others need, and of numbers of 16 bits.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: edge.integer
func.func @stays(%x: tensor<4xi8>, %y: tensor<4xi8>, %w: tensor<4xi16>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xf32>, tensor<4xi16>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %y {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %2 = edge.mul.Tensor %0, %1 : tensor<4xf32>
  %3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %4 = edge.cumsum %0 {dim = 0} : tensor<4xf32>
  %5 = edge.quantized_decomposed.quantize_per_tensor %4 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %6 = edge.sin %0 : tensor<4xf32>
  %7 = edge.quantized_decomposed.quantize_per_tensor %6 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %8 = edge.quantized_decomposed.dequantize_per_tensor %w {scale = 0.5, zero_point = 0, quant_min = -9, quant_max = 9, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %9 = edge.sin %8 : tensor<4xf32>
  %10 = edge.quantized_decomposed.quantize_per_tensor %9 {scale = 0.5, zero_point = 0, quant_min = -9, quant_max = 9, dtype = i16} : (tensor<4xf32>) -> tensor<4xi16>
  func.return %3, %5, %7, %6, %10 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xf32>, tensor<4xi16>
}
