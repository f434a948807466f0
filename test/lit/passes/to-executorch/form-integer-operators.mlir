// RUN: et-opt -p 'form-integer-operators{target="et-vm"}' --split-input-file %s | filecheck %s
// RUN: et-opt -p form-integer-operators --split-input-file %s | filecheck %s --check-prefix=STOCK

program.constant @s : tensor<3xf32> = #program.data<f32, [0.1, 0.2, 0.3]>
program.constant @z : tensor<3xi64> = #program.data<i64, [0, 0, 0]>
program.constant @b : tensor<3xf32> = #program.data<f32, [1.0, 2.0, 3.0]>

// CHECK-LABEL: func.func @linear
// STOCK-LABEL: func.func @linear
// STOCK-NOT: edge.integer
func.func @linear(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>) -> tensor<2x3xi8> {
  // CHECK: %[[S:.*]] = program.get @s
  // CHECK: %[[B:.*]] = program.get @b
  // CHECK-NEXT: %[[L:.*]] = edge.integer.linear %x, %w, %[[S]], %[[B]] {input_scale = 0.5, input_zero_point = 3, out_scale = 0.25, out_zero_point = -5, out_quant_min = -5, out_quant_max = 19} : (tensor<2x4xi8>, tensor<3x4xi8>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xi8>
  // CHECK-NEXT: func.return %[[L]]
  %s = program.get @s : tensor<3xf32>
  %z = program.get @z : tensor<3xi64>
  %b = program.get @b : tensor<3xf32>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<3x4xi8>, tensor<3xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %2 = edge.linear %0, %1, %b : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %3 = edge.clamp %2 {min = 0.0, max = 6.0} : tensor<2x3xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.25, zero_point = -5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %4 : tensor<2x3xi8>
}

// -----

// What linear layers are decomposed into; scales along the filters, or one.
program.constant @s : tensor<3xf32> = #program.data<f32, [0.1, 0.2, 0.3]>
program.constant @z : tensor<3xi64> = #program.data<i64, [0, 0, 0]>
program.constant @b : tensor<3xf32> = #program.data<f32, [1.0, 2.0, 3.0]>

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>, %v: tensor<4x3xi8>) -> (tensor<2x3xi8>, tensor<1x2x3xi8>, tensor<2x3xi8>) {
  // CHECK: edge.integer.linear %x, %w, %{{.*}}, %{{.*}} {input_scale = 0.5
  // CHECK: %[[P:.*]] = edge.integer.linear %x, %w, %{{.*}}, %{{.*}} {input_scale = 0.5
  // CHECK-NEXT: edge.view_copy %[[P]] {size = [1, 2, 3]} : (tensor<2x3xi8>) -> tensor<1x2x3xi8>
  // CHECK: %[[G:.*]] = program.get @weight_scales : tensor<1xf64>
  // CHECK-NEXT: %[[T:.*]] = edge.permute_copy %v {dims = [1, 0]} : (tensor<4x3xi8>) -> tensor<3x4xi8>
  // CHECK-NEXT: edge.integer.linear %x, %[[T]], %[[G]] {input_scale = 0.5
  %s = program.get @s : tensor<3xf32>
  %z = program.get @z : tensor<3xi64>
  %b = program.get @b : tensor<3xf32>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<3x4xi8>, tensor<3xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %2 = edge.permute_copy %1 {dims = [1, 0]} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %3 = edge.addmm %b, %0, %2 {beta = 1, alpha = 1} : (tensor<3xf32>, tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.25, zero_point = -5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %5 = edge.mm %0, %2 : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %6 = edge.view_copy %5 {size = [1, 2, 3]} : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %7 = edge.add.Tensor %6, %b : (tensor<1x2x3xf32>, tensor<3xf32>) -> tensor<1x2x3xf32>
  %8 = edge.quantized_decomposed.quantize_per_tensor %7 {scale = 0.25, zero_point = -5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3xf32>) -> tensor<1x2x3xi8>
  %9 = edge.quantized_decomposed.dequantize_per_tensor %v {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %10 = edge.mm %0, %9 : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %11 = edge.quantized_decomposed.quantize_per_tensor %10 {scale = 0.25, zero_point = -5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %4, %8, %11 : tensor<2x3xi8>, tensor<1x2x3xi8>, tensor<2x3xi8>
}

// -----

// A bias of integers with the scale of the sums stays one; a clamp of the result becomes its limits.
program.constant @b : tensor<2xi32> = #program.data<i32, [1000, -1000]>

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x3x4x4xi8>, %w: tensor<2x3x3x3xi8>) -> tensor<1x2x2x2xi8> {
  // CHECK-NEXT: %[[B:.*]] = program.get @b : tensor<2xi32>
  // CHECK-NEXT: %[[G:.*]] = program.get @weight_scales : tensor<1xf64>
  // CHECK-NEXT: %[[C:.*]] = edge.integer.convolution %x, %w, %[[G]], %[[B]] {input_scale = 0.5, input_zero_point = 3, stride = [2, 2], padding = [1, 1], dilation = [1, 1], groups = 1, out_scale = 0.25, out_zero_point = -5, out_quant_min = -5, out_quant_max = 100}
  // CHECK-NEXT: func.return %[[C]]
  %b = program.get @b : tensor<2xi32>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x4x4xi8>) -> tensor<1x3x4x4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %w {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xf32>
  %2 = edge.quantized_decomposed.dequantize_per_tensor %b {scale = 0.0625, zero_point = 0, quant_min = -2147483648, quant_max = 2147483647, dtype = i32} : (tensor<2xi32>) -> tensor<2xf32>
  %3 = edge.convolution %0, %1, %2 {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x4x4xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.25, zero_point = -5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  %5 = edge.clamp %4 {min = -5, max = 100} : tensor<1x2x2x2xi8>
  func.return %5 : tensor<1x2x2x2xi8>
}

// -----

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%x: tensor<2x4xi8>, %y: tensor<4xi8>) -> (tensor<2x4xi8>, tensor<2x4xi8>, tensor<2x4xi8>, tensor<2xi8>) {
  // CHECK-NEXT: edge.integer.add %x, %y {input_scale = 0.5, input_zero_point = 3, other_scale = 0.25, other_zero_point = -1, out_scale = 1.0, out_zero_point = 2, out_quant_min = 2, out_quant_max = 127}
  // CHECK-NEXT: edge.integer.add %x, %y {input_scale = 0.5, input_zero_point = 3, other_scale = -0.25, other_zero_point = -1
  // CHECK-NEXT: edge.integer.mul %x, %y {input_scale = 0.5, input_zero_point = 3, other_scale = 0.25, other_zero_point = -1
  // CHECK-NEXT: edge.integer.mean.dim %x {input_scale = 0.5, input_zero_point = 3, dim = [1], keepdim = false
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %y {scale = 0.25, zero_point = -1, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %2 = edge.add.Tensor %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = edge.relu %2 : tensor<2x4xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %5 = edge.sub.Tensor %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %6 = edge.quantized_decomposed.quantize_per_tensor %5 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %7 = edge.mul.Tensor %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %8 = edge.quantized_decomposed.quantize_per_tensor %7 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %9 = edge.mean.dim %0 {dim = [1]} : (tensor<2x4xf32>) -> tensor<2xf32>
  %10 = edge.quantized_decomposed.quantize_per_tensor %9 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2xf32>) -> tensor<2xi8>
  func.return %4, %6, %8, %10 : tensor<2x4xi8>, tensor<2x4xi8>, tensor<2x4xi8>, tensor<2xi8>
}

// -----

// Indices that something uses stay.
// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2x2x2xi8>, tensor<1x2x2x2xi64>) {
  // CHECK-NEXT: edge.integer.max_pool2d %x {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false} : (tensor<1x2x4x4xi8>) -> tensor<1x2x2x2xi8>
  // CHECK-NEXT: edge.max_pool2d_with_indices %x
  // CHECK-NEXT: edge.integer.avg_pool2d %x {input_scale = 0.5, input_zero_point = 3, kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], ceil_mode = false, count_include_pad = true, out_scale = 0.25
  %0, %1 = edge.max_pool2d_with_indices %x {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false} : (tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2x2x2xi64>)
  %2, %3 = edge.max_pool2d_with_indices %x {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false} : (tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2x2x2xi64>)
  %4 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %5 = edge.avg_pool2d %4 {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], ceil_mode = false, count_include_pad = true} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %6 = edge.quantized_decomposed.quantize_per_tensor %5 {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  func.return %0, %6, %3 : tensor<1x2x2x2xi8>, tensor<1x2x2x2xi8>, tensor<1x2x2x2xi64>
}

// -----

// Stays: scales along the columns, zero points of weights, a bias that may be infinite, one that varies by row, a sum
// that is needed in floats, a factor, and a transposed convolution.
program.constant @s : tensor<4xf32> = #program.data<f32, [0.1, 0.2, 0.3, 0.4]>
program.constant @z : tensor<4xi64> = #program.data<i64, [0, 0, 0, 0]>
program.constant @o : tensor<4xi64> = #program.data<i64, [0, 0, 1, 0]>
program.constant @b : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 0x7f800000, 4.0]>

// CHECK-LABEL: func.func @stays
// CHECK-NOT: edge.integer
func.func @stays(%x: tensor<4x4xi8>, %w: tensor<4x4xi8>, %i: tensor<1x4x4x4xi8>, %k: tensor<4x4x1x1xi8>) -> (tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xf32>, tensor<4x4xi8>, tensor<1x4x4x4xi8>) {
  %s = program.get @s : tensor<4xf32>
  %z = program.get @z : tensor<4xi64>
  %o = program.get @o : tensor<4xi64>
  %b = program.get @b : tensor<4xf32>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xi8>) -> tensor<4x4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 1, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %2 = edge.linear %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xf32>) -> tensor<4x4xi8>
  %4 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %o {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %5 = edge.linear %0, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = edge.quantized_decomposed.quantize_per_tensor %5 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xf32>) -> tensor<4x4xi8>
  %7 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %8 = edge.linear %0, %7, %b : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %9 = edge.quantized_decomposed.quantize_per_tensor %8 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xf32>) -> tensor<4x4xi8>
  %10 = edge.addmm %0, %0, %7 {beta = 1, alpha = 1} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %11 = edge.quantized_decomposed.quantize_per_tensor %10 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xf32>) -> tensor<4x4xi8>
  %12 = edge.add.Tensor %0, %0 : tensor<4x4xf32>
  %13 = edge.quantized_decomposed.quantize_per_tensor %12 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xf32>) -> tensor<4x4xi8>
  %14 = edge.quantized_decomposed.dequantize_per_tensor %w {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xi8>) -> tensor<4x4xf32>
  %15 = edge.add.Tensor %0, %14 {alpha = 2} : tensor<4x4xf32>
  %16 = edge.quantized_decomposed.quantize_per_tensor %15 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4xf32>) -> tensor<4x4xi8>
  %17 = edge.quantized_decomposed.dequantize_per_tensor %i {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4x4x4xi8>) -> tensor<1x4x4x4xf32>
  %18 = edge.quantized_decomposed.dequantize_per_tensor %k {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x4x1x1xi8>) -> tensor<4x4x1x1xf32>
  %19 = edge.convolution %17, %18 {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1} : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %20 = edge.quantized_decomposed.quantize_per_tensor %19 {scale = 1.0, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xi8>
  func.return %3, %6, %9, %11, %12, %16, %20 : tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xf32>, tensor<4x4xi8>, tensor<1x4x4x4xi8>
}
