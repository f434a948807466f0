// RUN: et-opt -p form-kernels --split-input-file %s | filecheck %s

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2x2xf32> = #program.data<f32, [0.5, 0.25, 0.5, 0.125]>
program.constant @z : tensor<2x2xi64> = #program.data<i64, [0, 0, 0, 0]>

// A product of floats with weights of integers; what follows is computed with it, and zero points of 0 are not read.
// CHECK-LABEL: func.func @floats(
// CHECK:         %0 = native.kernel "quantized_product"(%w, %s, %x, %b) : (tensor<2x4xi8>, tensor<2x2xf32>, tensor<3x4xf32>, tensor<2xf32>) -> tensor<3x2xf32> {
// CHECK:           %1 = edge.quantized_decomposed.dequantize_per_channel_group %w_1, %s_1 {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x2xf32>) -> tensor<2x4xf32>
// CHECK:           %2 = edge.linear %x_1, %1, %b_1 : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<3x2xf32>
// CHECK:           %3 = edge.relu %2 : tensor<3x2xf32>
// CHECK:           native.yield %3 : tensor<3x2xf32>
// CHECK:         func.return %0 : tensor<3x2xf32>
func.func @floats(%x: tensor<3x4xf32>, %b: tensor<2xf32>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2x2xf32>
  %z = program.get @z : tensor<2x2xi64>
  %0 = edge.quantized_decomposed.dequantize_per_channel_group %w, %s, %z {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<2x4xf32>
  %1 = edge.linear %x, %0, %b : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %2 = edge.relu %1 : tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>

// Rows of bytes lose their sign, together with what is stored; zero points become floats.
// CHECK-LABEL: func.func @rows(
// CHECK:         %0 = native.kernel "pointwise"(%x) : (tensor<3x4xi8>) -> tensor<3x4xui8> {
// CHECK:           %1 = edge.dim_order_ops._to_dim_order_copy %x_1 {dtype = f32} : (tensor<3x4xi8>) -> tensor<3x4xf32>
// CHECK:           %2 = edge.add.Scalar %1 {other = 128.0} : tensor<3x4xf32>
// CHECK:           %3 = edge.dim_order_ops._to_dim_order_copy %2 {dtype = ui8} : (tensor<3x4xf32>) -> tensor<3x4xui8>
// CHECK:           native.yield %3 : tensor<3x4xui8>
// CHECK:         %1 = native.kernel "pointwise"(%p) : (tensor<3xi64>) -> tensor<3xf32> {
// CHECK:           %2 = edge.dim_order_ops._to_dim_order_copy %p_1 {dtype = f32} : (tensor<3xi64>) -> tensor<3xf32>
// CHECK:           %3 = edge.add.Scalar %2 {other = 128.0} : tensor<3xf32>
// CHECK:           native.yield %3 : tensor<3xf32>
// CHECK:         %2 = native.kernel "quantized_product"(%w, %s, %0, %t, %1) : (tensor<2x4xi8>, tensor<2xf32>, tensor<3x4xui8>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x2xf32> {
// CHECK:           %5 = edge.quantized_decomposed.dequantize_per_channel %w_1, %s_1 {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
// CHECK:           %6 = edge.quantized_decomposed.dequantize_per_channel %3, %t_1, %4 {axis = 0, quant_min = 0, quant_max = 255, dtype = ui8} : (tensor<3x4xui8>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x4xf32>
// CHECK:           %7 = edge.linear %6, %5 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
// CHECK:           native.yield %7 : tensor<3x2xf32>
// CHECK:         func.return %2 : tensor<3x2xf32>
func.func @rows(%x: tensor<3x4xi8>, %t: tensor<3xf32>, %p: tensor<3xi64>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel %w, %s {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_channel %x, %t, %p {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>, tensor<3xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %2 = edge.linear %1, %0 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

// Rows that no product reads are restored by pointwise ops.
// CHECK-LABEL: func.func @alone(
// CHECK:         %0 = native.kernel "pointwise"(%p) : (tensor<3xi64>) -> tensor<3xf32> {
// CHECK:           %1 = edge.dim_order_ops._to_dim_order_copy %p_1 {dtype = f32} : (tensor<3xi64>) -> tensor<3xf32>
// CHECK:           native.yield %1 : tensor<3xf32>
// CHECK:         %1 = edge.view_copy %0 {size = [-1, 1]} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK:         %2 = edge.view_copy %t {size = [-1, 1]} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK:         %3 = native.kernel "pointwise"(%x, %1, %2) : (tensor<3x4xi8>, tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x4xf32> {
// CHECK:           %6 = edge.dim_order_ops._to_dim_order_copy %x_1 {dtype = f32} : (tensor<3x4xi8>) -> tensor<3x4xf32>
// CHECK:           %7 = edge.sub.Tensor %6, %4 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK:           %8 = edge.mul.Tensor %7, %5 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK:           native.yield %8 : tensor<3x4xf32>
// CHECK:         func.return %3 : tensor<3x4xf32>
func.func @alone(%x: tensor<3x4xi8>, %t: tensor<3xf32>, %p: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = edge.quantized_decomposed.dequantize_per_channel %x, %t, %p {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>, tensor<3xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
