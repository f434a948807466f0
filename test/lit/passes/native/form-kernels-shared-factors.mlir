// RUN: et-opt -p form-kernels %s | filecheck %s

program.constant @w : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @z : tensor<2xi64> = #program.data<i64, [0, 0]>

// Weights that the method returns too are dequantized by a kernel of their own.
// CHECK:      func.func @shared(
// CHECK:        %[[X:.*]] = native.kernel "pointwise"(%x) : (tensor<3x4xf32>) -> tensor<3x4xui8>
// CHECK:        native.kernel "pointwise"({{.*}}) : ({{.*}}) -> tensor<2x4xf32>
// CHECK:          edge.dim_order_ops._to_dim_order_copy
// CHECK:          edge.mul.Tensor
// CHECK:        native.kernel "integer_product"(
// CHECK:          edge.quantized_decomposed.dequantize_per_channel
// CHECK-NOT:    dequantize_per_channel
func.func @shared(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<2x4xf32>) {
  %w = program.get @w : tensor<2x4xi8>
  %s = program.get @s : tensor<2xf32>
  %z = program.get @z : tensor<2xi64>
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xf32>) -> tensor<3x4xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = -3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %3 = edge.linear %1, %2 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %3, %2 : tensor<3x2xf32>, tensor<2x4xf32>
}
