// RUN: et-opt -p look-up-integers --split-input-file %s | filecheck %s

program.constant @w : tensor<4x2xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<4xf32> = #program.data<f32, [0.5, 0.25, 0.5, 0.125]>
program.constant @z : tensor<4xi8> = #program.data<i8, [0, 0, 0, 0]>

// Rows are looked up as integers, with the scale of each; zero points of 0 are not read.
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT:    %w = program.get @w : tensor<4x2xi8>
// CHECK-NEXT:    %s = program.get @s : tensor<4xf32>
// CHECK-NEXT:    %z = program.get @z : tensor<4xi8>
// CHECK-NEXT:    %0 = edge.embedding %w, %ids : (tensor<4x2xi8>, tensor<3xi64>) -> tensor<3x2xi8>
// CHECK-NEXT:    %1 = edge.view_copy %s {size = [4, 1]} : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %2 = edge.dim_order_ops._to_dim_order_copy %0 {dtype = f32} : (tensor<3x2xi8>) -> tensor<3x2xf32>
// CHECK-NEXT:    %3 = edge.embedding %1, %ids : (tensor<4x1xf32>, tensor<3xi64>) -> tensor<3x1xf32>
// CHECK-NEXT:    %4 = edge.mul.Tensor %2, %3 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:    func.return %4
func.func @rows(%ids: tensor<3xi64>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<4x2xi8>
  %s = program.get @s : tensor<4xf32>
  %z = program.get @z : tensor<4xi8>
  %0 = edge.dim_order_ops._to_dim_order_copy %z {dtype = i64} : (tensor<4xi8>) -> tensor<4xi64>
  %1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %0 {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x2xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %2 = edge.embedding %1, %ids : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

program.constant @w : tensor<4x2xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<4xf32> = #program.data<f32, [0.5, 0.25, 0.5, 0.125]>
program.constant @z : tensor<4xi64> = #program.data<i64, [0, 0, 1, 0]>

// Not with zero points, or where something else reads the table.
// CHECK-LABEL: func.func @points(
// CHECK:         %0 = edge.quantized_decomposed.dequantize_per_channel
// CHECK-NEXT:    %1 = edge.embedding %0
func.func @points(%ids: tensor<3xi64>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<4x2xi8>
  %s = program.get @s : tensor<4xf32>
  %z = program.get @z : tensor<4xi64>
  %0 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x2xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %1 = edge.embedding %0, %ids : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @also_read(
// CHECK:         %0 = edge.quantized_decomposed.dequantize_per_channel
// CHECK-NEXT:    %1 = edge.embedding %0
func.func @also_read(%ids: tensor<3xi64>) -> (tensor<3x2xf32>, tensor<4x2xf32>) {
  %w = program.get @w : tensor<4x2xi8>
  %s = program.get @s : tensor<4xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel %w, %s {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x2xi8>, tensor<4xf32>) -> tensor<4x2xf32>
  %1 = edge.embedding %0, %ids : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  func.return %1, %0 : tensor<3x2xf32>, tensor<4x2xf32>
}
