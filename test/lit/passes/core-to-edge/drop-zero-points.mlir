// RUN: et-opt -p drop-zero-points,dce --split-input-file %s | filecheck %s

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2x2xf32> = #program.data<f32, [0.5, 0.25, 0.5, 0.125]>
program.constant @z : tensor<2x2xi8> = #program.data<i8, [0, 0, 0, 0]>

// Zeros that would be converted in each call.
// CHECK-LABEL: func.func @converted(
// CHECK-NEXT:    %w = program.get @w
// CHECK-NEXT:    %s = program.get @s
// CHECK-NEXT:    %0 = edge.quantized_decomposed.dequantize_per_channel_group %w, %s {
// CHECK-NEXT:    func.return %0
func.func @converted() -> tensor<2x4xf32> {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2x2xf32>
  %z = program.get @z : tensor<2x2xi8>
  %0 = edge.dim_order_ops._to_dim_order_copy %z {dtype = i64} : (tensor<2x2xi8>) -> tensor<2x2xi64>
  %1 = edge.quantized_decomposed.dequantize_per_channel_group %w, %s, %0 {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// -----

program.constant @w : tensor<2x2xi8> = #program.data<i8, [1, 2, 3, 4]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @wide : tensor<2xi64> = #program.data<i64, [0, 0]>
program.constant @other : tensor<2xi8> = #program.data<i8, [0, 1]>

// Constants as they are, other numbers than 0, and those of run time stay.
// CHECK-LABEL: func.func @kept(
// CHECK:         dequantize_per_channel %w, %s, %wide {
// CHECK:         %[[OTHER:.*]] = edge.dim_order_ops._to_dim_order_copy %other
// CHECK:         dequantize_per_channel %w, %s, %[[OTHER]] {
// CHECK:         %[[X:.*]] = edge.dim_order_ops._to_dim_order_copy %x
// CHECK:         dequantize_per_channel %w, %s, %[[X]] {
func.func @kept(%x: tensor<2xi8>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = program.get @w : tensor<2x2xi8>
  %s = program.get @s : tensor<2xf32>
  %wide = program.get @wide : tensor<2xi64>
  %other = program.get @other : tensor<2xi8>
  %0 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %wide {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = edge.dim_order_ops._to_dim_order_copy %other {dtype = i64} : (tensor<2xi8>) -> tensor<2xi64>
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %1 {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %3 = edge.dim_order_ops._to_dim_order_copy %x {dtype = i64} : (tensor<2xi8>) -> tensor<2xi64>
  %4 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %3 {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  func.return %0, %2, %4 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

program.constant @s : tensor<2x1xf64> = #program.data<f64, [0.5, 0.25]>
program.constant @z : tensor<2x1xi8> = #program.data<i8, [0, 0]>

// An operator that takes no other form than with zero points.
// CHECK-LABEL: func.func @tokens(
// CHECK:         %[[Z:.*]] = edge.dim_order_ops._to_dim_order_copy %z
// CHECK-NEXT:    dequantize_per_token %x, %s, %[[Z]] {
func.func @tokens(%x: tensor<2x4xi8>) -> tensor<2x4xf32> {
  %s = program.get @s : tensor<2x1xf64>
  %z = program.get @z : tensor<2x1xi8>
  %0 = edge.dim_order_ops._to_dim_order_copy %z {dtype = i64} : (tensor<2x1xi8>) -> tensor<2x1xi64>
  %1 = edge.quantized_decomposed.dequantize_per_token %x, %s, %0 {quant_min = -128, quant_max = 127, dtype = i8, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
