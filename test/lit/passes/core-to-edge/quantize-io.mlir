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

// Moves between an input or an output and its quantization move integers, and a factor is one of the scale. What is
// padded with is stored as the others are.
// CHECK-LABEL: func.func @moves(%x: tensor<1x4x4x2xi8>, %y: tensor<4xi8>, %z: tensor<2xi8>) -> (tensor<1x2x6x4xi8>, tensor<2xi8>, tensor<4xi8>) {
func.func @moves(%x: tensor<1x4x4x2xf32>, %y: tensor<4xf32>, %z: tensor<2xf32>) -> (tensor<1x2x6x4xi8>, tensor<2xf32>, tensor<4xi8>) {
  // CHECK-NEXT: %[[P:.*]] = edge.permute_copy %x {dims = [0, 3, 1, 2]} : (tensor<1x4x4x2xi8>) -> tensor<1x2x4x4xi8>
  // CHECK-NEXT: %[[Q:.*]] = edge.constant_pad_nd %[[P]] {pad = [0, 0, 1, 1], value = 5} : (tensor<1x2x4x4xi8>) -> tensor<1x2x6x4xi8>
  %0 = edge.permute_copy %x {dims = [0, 3, 1, 2]} : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  %1 = edge.constant_pad_nd %0 {pad = [0, 0, 1, 1], value = 1.0} : (tensor<1x2x4x4xf32>) -> tensor<1x2x6x4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xi8>
  // CHECK-NEXT: %[[S:.*]] = edge.slice_copy.Tensor %y {start = 1, end = 3} : (tensor<4xi8>) -> tensor<2xi8>
  // CHECK-NEXT: %[[T:.*]] = edge.flip %[[S]] {dims = [0]} : tensor<2xi8>
  %3 = edge.div.Scalar %y {other = 255} : tensor<4xf32>
  %4 = edge.slice_copy.Tensor %3 {dim = 0, start = 1, end = 3} : (tensor<4xf32>) -> tensor<2xf32>
  %5 = edge.quantized_decomposed.quantize_per_tensor %4 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2xf32>) -> tensor<2xi8>
  %6 = edge.flip %5 {dims = [0]} : tensor<2xi8>
  %7 = edge.quantized_decomposed.dequantize_per_tensor %6 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2xi8>) -> tensor<2xf32>
  // CHECK-NEXT: %[[R:.*]] = edge.repeat %z {repeats = [2]} : (tensor<2xi8>) -> tensor<4xi8>
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %[[T]] {size = [1, 2]} : (tensor<2xi8>) -> tensor<1x2xi8>
  // CHECK-NEXT: %[[W:.*]] = edge.squeeze_copy.dims %[[V]] {dim = [0]} : (tensor<1x2xi8>) -> tensor<2xi8>
  // CHECK-NEXT: func.return %[[Q]], %[[W]], %[[R]]
  %8 = edge.view_copy %7 {size = [1, 2]} : (tensor<2xf32>) -> tensor<1x2xf32>
  %9 = edge.squeeze_copy.dims %8 {dim = [0]} : (tensor<1x2xf32>) -> tensor<2xf32>
  %10 = edge.mul.Scalar %z {other = 4} : tensor<2xf32>
  %11 = edge.repeat %10 {repeats = [2]} : (tensor<2xf32>) -> tensor<4xf32>
  %12 = edge.quantized_decomposed.quantize_per_tensor %11 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2, %9, %12 : tensor<1x2x6x4xi8>, tensor<2xf32>, tensor<4xi8>
}
// CHECK: func.func @moves_input1_scale() -> f64
// CHECK-NEXT: program.literal 1.275000e+02
// CHECK: func.func @moves_input2_scale() -> f64
// CHECK-NEXT: program.literal 1.250000e-01

// -----

// Stays: read in floats behind a move, padded with what is known at run time only, multiplied by a negative number, in
// the second of two quantizations with another factor; an output that is padded.
// CHECK-LABEL: func.func @moved(%x: tensor<4xf32>, %w: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<5xf32>)
func.func @moved(%x: tensor<4xf32>, %w: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<5xf32>) {
  %0 = edge.view_copy %x {size = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32>
  %1 = edge.sin %0 : tensor<2x2xf32>
  %2 = edge.mul.Scalar %w {other = -2} : tensor<4xf32>
  %3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %4 = edge.quantized_decomposed.quantize_per_tensor %y {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %5 = edge.mul.Scalar %y {other = 2} : tensor<4xf32>
  %6 = edge.quantized_decomposed.quantize_per_tensor %5 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %7 = edge.quantized_decomposed.dequantize_per_tensor %6 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %8 = edge.constant_pad_nd %7 {pad = [0, 1], value = 0.3} : (tensor<4xf32>) -> tensor<5xf32>
  func.return %1, %3, %4, %6, %8 : tensor<2x2xf32>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<5xf32>
}
// CHECK-NOT: func.func

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
