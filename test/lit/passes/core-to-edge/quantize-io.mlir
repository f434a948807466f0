// RUN: et-opt -p quantize-io --split-input-file %s | filecheck %s

// Two readers with one quantization; what is returned twice becomes integers twice.
// CHECK-LABEL: func.func @forward(%x: tensor<?x4xi8>) -> (tensor<4x?xi8>, tensor<?x4xi8>) {
func.func @forward(%x: tensor<?x4xf32>) -> (tensor<4x?xf32>, tensor<?x4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = edge.permute_copy %x {dims = [1, 0]} : (tensor<?x4xi8>) -> tensor<4x?xi8>
  // CHECK-NEXT: %[[B:.*]] = edge.clamp %x {min = 3, max = 7} : tensor<?x4xi8>
  // CHECK-NEXT: func.return %[[A]], %[[B]] : tensor<4x?xi8>, tensor<?x4xi8>
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?x4xf32>) -> tensor<?x4xi8>
  %1 = edge.permute_copy %0 {dims = [1, 0]} : (tensor<?x4xi8>) -> tensor<4x?xi8>
  %2 = edge.quantized_decomposed.dequantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x?xi8>) -> tensor<4x?xf32>
  %3 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?x4xf32>) -> tensor<?x4xi8>
  %4 = edge.clamp %3 {min = 3, max = 7} : tensor<?x4xi8>
  %5 = edge.quantized_decomposed.dequantize_per_tensor %4 {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?x4xi8>) -> tensor<?x4xf32>
  func.return %2, %5 : tensor<4x?xf32>, tensor<?x4xf32>
}
// CHECK: func.func @forward_input0_scale() -> f64
// CHECK-NEXT: program.literal 5.000000e-01
// CHECK: func.func @forward_input0_zp() -> i64
// CHECK-NEXT: program.literal 3
// CHECK: func.func @forward_input0_quant_min() -> i64
// CHECK-NEXT: program.literal -128
// CHECK: func.func @forward_input0_quant_max() -> i64
// CHECK: func.func @forward_input0_dtype() -> i64
// CHECK-NEXT: program.literal 1
// CHECK: func.func @forward_output0_scale() -> f64
// CHECK: func.func @forward_output1_scale() -> f64
// CHECK-NEXT: program.literal 2.500000e-01

// -----

// Stays: read in two quantizations, in floats too, with scales of run time; restored by channel, or by nobody.
program.constant @s : tensor<4xf32> = #program.data<f32, [0.1, 0.2, 0.3, 0.4]>
program.constant @z : tensor<4xi64> = #program.data<i64, [0, 0, 0, 0]>

// CHECK-LABEL: func.func @stays(%x: tensor<4xf32>, %y: tensor<4xf32>, %w: tensor<4xf32>, %t: tensor<f32>, %o: tensor<i64>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xf32>, tensor<4xf32>)
func.func @stays(%x: tensor<4xf32>, %y: tensor<4xf32>, %w: tensor<4xf32>, %t: tensor<f32>, %o: tensor<i64>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xf32>, tensor<4xf32>) {
  %s = program.get @s : tensor<4xf32>
  %z = program.get @z : tensor<4xi64>
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %1 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %2 = edge.quantized_decomposed.quantize_per_tensor %y {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %3 = edge.sin %y : tensor<4xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor.tensor %w, %t, %o {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>, tensor<f32>, tensor<i64>) -> tensor<4xi8>
  %5 = edge.add.Tensor %2, %4 : tensor<4xi8>
  %6 = edge.add.Tensor %0, %1 : tensor<4xi8>
  %7 = edge.quantized_decomposed.dequantize_per_channel %5, %s, %z {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return %5, %6, %3, %7 : tensor<4xi8>, tensor<4xi8>, tensor<4xf32>, tensor<4xf32>
}
// CHECK-NOT: func.func
