// RUN: et-opt -p form-kernels --split-input-file %s | filecheck %s

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @z : tensor<2xi64> = #program.data<i64, [0, 0]>

// A product of bytes without a sign by bytes with one; what follows is computed with it.
// CHECK:      func.func @linear(
// CHECK:        %0 = native.kernel "pointwise"(%x) : (tensor<3x4xf32>) -> tensor<3x4xui8> {
// CHECK:          %1 = edge.quantized_decomposed.quantize_per_tensor %x_1 {scale = 0.5, zero_point = 125, quant_min = 0, quant_max = 255, dtype = ui8} : (tensor<3x4xf32>) -> tensor<3x4xui8>
// CHECK:          native.yield %1 : tensor<3x4xui8>
// CHECK:        %1 = native.kernel "integer_product"(%0, %w, %s, %z) : (tensor<3x4xui8>, tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xi8> {
// CHECK:          %3 = edge.quantized_decomposed.dequantize_per_tensor %2 {scale = 0.5, zero_point = 125, quant_min = 0, quant_max = 255, dtype = ui8} : (tensor<3x4xui8>) -> tensor<3x4xf32>
// CHECK:          %4 = edge.quantized_decomposed.dequantize_per_channel %w_1, %s_1, %z_1 {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
// CHECK:          %5 = edge.linear %3, %4 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
// CHECK:          %6 = edge.relu %5 : tensor<3x2xf32>
// CHECK:          %7 = edge.quantized_decomposed.quantize_per_tensor %6 {scale = 0.125, zero_point = 7, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x2xf32>) -> tensor<3x2xi8>
// CHECK:          native.yield %7 : tensor<3x2xi8>
func.func @linear(%x: tensor<3x4xf32>) -> tensor<3x2xi8> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2xf32>
  %z = program.get @z : tensor<2xi64>
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xf32>) -> tensor<3x4xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %3 = edge.linear %1, %2 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  %4 = edge.relu %3 : tensor<3x2xf32>
  %5 = edge.quantized_decomposed.quantize_per_tensor %4 {scale = 0.125, zero_point = 7, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x2xf32>) -> tensor<3x2xi8>
  func.return %5 : tensor<3x2xi8>
}

// -----

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @z : tensor<2xi64> = #program.data<i64, [0, 0]>

// Bytes with a sign that come from elsewhere are stored again.
// CHECK:      func.func @stored_elsewhere(
// CHECK:        %0 = native.kernel "pointwise"(%x) : (tensor<3x4xi8>) -> tensor<3x4xui8> {
// CHECK:          %1 = edge.quantized_decomposed.dequantize_per_tensor %x_1 {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>) -> tensor<3x4xf32>
// CHECK:          %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 125, quant_min = 0, quant_max = 255, dtype = ui8} : (tensor<3x4xf32>) -> tensor<3x4xui8>
// CHECK:          native.yield %2 : tensor<3x4xui8>
// CHECK:        %1 = native.kernel "integer_product"(%w, %s, %z, %0) : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>, tensor<3x4xui8>) -> tensor<3x2xf32> {
// CHECK:          %3 = edge.quantized_decomposed.dequantize_per_channel %w_1, %s_1, %z_1 {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
// CHECK:          %4 = edge.quantized_decomposed.dequantize_per_tensor %2 {scale = 0.5, zero_point = 125, quant_min = 0, quant_max = 255, dtype = ui8} : (tensor<3x4xui8>) -> tensor<3x4xf32>
// CHECK:          %5 = edge.linear %4, %3 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
// CHECK:          native.yield %5 : tensor<3x2xf32>
func.func @stored_elsewhere(%x: tensor<3x4xi8>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2xf32>
  %z = program.get @z : tensor<2xi64>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %3 = edge.linear %1, %2 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %3 : tensor<3x2xf32>
}

// -----

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @z : tensor<2xi64> = #program.data<i64, [0, 0]>

// A quantization by the range of its numbers is expanded.
// CHECK:      func.func @by_range(
// CHECK:        %0 = native.kernel "rows"(%x) : (tensor<3x4xf32>) -> tensor<f32> {
// CHECK:          %1 = edge.amin %x_1 {dim = [0, 1]} : (tensor<3x4xf32>) -> tensor<f32>
// CHECK:          native.yield %1 : tensor<f32>
// CHECK:        %1 = edge.view_copy %0 {size = [1]} : (tensor<f32>) -> tensor<1xf32>
// CHECK:        %2 = native.kernel "pointwise"(%1) : (tensor<1xf32>) -> tensor<1xf32> {
// CHECK:          %4 = edge.clamp %3 {max = 0.0} : tensor<1xf32>
// CHECK:          native.yield %4 : tensor<1xf32>
// CHECK:        %3 = native.kernel "rows"(%x) : (tensor<3x4xf32>) -> tensor<f32> {
// CHECK:          %4 = edge.amax %x_1 {dim = [0, 1]} : (tensor<3x4xf32>) -> tensor<f32>
// CHECK:          native.yield %4 : tensor<f32>
// CHECK:        %4 = edge.view_copy %3 {size = [1]} : (tensor<f32>) -> tensor<1xf32>
// CHECK:        %5 = native.kernel "pointwise"(%4, %2) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32> {
// CHECK:          %8 = edge.clamp %6 {min = 0.0} : tensor<1xf32>
// CHECK:          %9 = edge.sub.Tensor %8, %7 : tensor<1xf32>
// CHECK:          %10 = edge.div.Scalar %9 {other = 255.0} : tensor<1xf32>
// CHECK:          %11 = edge.clamp %10 {min = 0.000244140625} : tensor<1xf32>
// CHECK:          native.yield %11 : tensor<1xf32>
// CHECK:        %6 = native.kernel "pointwise"(%2, %5) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32> {
// CHECK:          %9 = edge.div.Tensor %7, %8 : tensor<1xf32>
// CHECK:          %10 = edge.round %9 : tensor<1xf32>
// CHECK:          %11 = edge.rsub.Scalar %10 {other = -128.0} : tensor<1xf32>
// CHECK:          %12 = edge.clamp %11 {min = -128.0, max = 127.0} : tensor<1xf32>
// CHECK:          %13 = edge.add.Scalar %12 {other = 128.0} : tensor<1xf32>
// CHECK:          native.yield %13 : tensor<1xf32>
// CHECK:        %7 = native.kernel "pointwise"(%5) : (tensor<1xf32>) -> tensor<1xf32> {
// CHECK:          %9 = edge.reciprocal %8 : tensor<1xf32>
// CHECK:          native.yield %9 : tensor<1xf32>
// CHECK:        %8 = native.kernel "pointwise"(%x, %7, %6) : (tensor<3x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x4xui8> {
// CHECK:          %11 = edge.mul.Tensor %x_1, %9 : (tensor<3x4xf32>, tensor<1xf32>) -> tensor<3x4xf32>
// CHECK:          %12 = edge.round %11 : tensor<3x4xf32>
// CHECK:          %13 = edge.add.Tensor %12, %10 : (tensor<3x4xf32>, tensor<1xf32>) -> tensor<3x4xf32>
// CHECK:          %14 = edge.clamp %13 {min = 0.0, max = 255.0} : tensor<3x4xf32>
// CHECK:          %15 = edge.dim_order_ops._to_dim_order_copy %14 {dtype = ui8} : (tensor<3x4xf32>) -> tensor<3x4xui8>
// CHECK:          native.yield %15 : tensor<3x4xui8>
// CHECK:        %9 = native.kernel "integer_product"(%8, %5, %6, %w, %s, %z) : (tensor<3x4xui8>, tensor<1xf32>, tensor<1xf32>, tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32> {
// CHECK:          %13 = edge.quantized_decomposed.dequantize_per_tensor.tensor %10, %11, %12 {quant_min = 0, quant_max = 255, dtype = ui8} : (tensor<3x4xui8>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x4xf32>
// CHECK:          %14 = edge.quantized_decomposed.dequantize_per_channel %w_1, %s_1, %z_1 {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
// CHECK:          %15 = edge.linear %13, %14 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
// CHECK:          native.yield %15 : tensor<3x2xf32>
func.func @by_range(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2xf32>
  %z = program.get @z : tensor<2xi64>
  %a, %b = edge.quantized_decomposed.choose_qparams.tensor %x {quant_min = -128, quant_max = 127, eps = 0.000244140625, dtype = i8} : (tensor<3x4xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  %0 = edge.quantized_decomposed.quantize_per_tensor.tensor %x, %a, %b {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<3x4xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor.tensor %0, %a, %b {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>, tensor<1xf64>, tensor<1xi64>) -> tensor<3x4xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %3 = edge.linear %1, %2 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %3 : tensor<3x2xf32>
}

// -----

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @z : tensor<2xi64> = #program.data<i64, [0, 3]>

// Weights with zero points are no such operands: a kernel dequantizes them.
// CHECK:      func.func @unfit(
// CHECK-NOT:    "integer_product"
// CHECK:          %{{.*}} = edge.sub.Tensor {{.*}} : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     %{{.*}} = edge.mul.Tensor {{.*}} : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NOT:    "integer_product"
func.func @unfit(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2xf32>
  %z = program.get @z : tensor<2xi64>
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xf32>) -> tensor<3x4xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %3 = edge.linear %1, %2 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %3 : tensor<3x2xf32>
}

// -----

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @z : tensor<2xi64> = #program.data<i64, [0, 0]>

// What a product quantizes is stored as bytes, which a reduction dequantizes as it reads them.
// CHECK:      func.func @reduced(
// CHECK:        native.kernel "integer_product"({{.*}}) : ({{.*}}) -> tensor<3x2xi8> {
// CHECK:        native.kernel "rows"({{.*}}) : (tensor<3x2xi8>) -> tensor<2xf32> {
// CHECK-NEXT:   ^bb0
// CHECK-NEXT:     edge.quantized_decomposed.dequantize_per_tensor
// CHECK-NEXT:     edge.mean.dim
func.func @reduced(%x: tensor<3x4xf32>) -> tensor<2xf32> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2xf32>
  %z = program.get @z : tensor<2xi64>
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xf32>) -> tensor<3x4xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %3 = edge.linear %1, %2 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.125, zero_point = 7, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x2xf32>) -> tensor<3x2xi8>
  %5 = edge.quantized_decomposed.dequantize_per_tensor %4 {scale = 0.125, zero_point = 7, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x2xi8>) -> tensor<3x2xf32>
  %6 = edge.mean.dim %5 {dim = [0]} : (tensor<3x2xf32>) -> tensor<2xf32>
  func.return %6 : tensor<2xf32>
}
