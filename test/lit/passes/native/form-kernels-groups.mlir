// RUN: et-opt -p form-kernels --split-input-file %s | filecheck %s

program.constant @w : tensor<4x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>

// A product of groups of rows, whose ends are read when the kernel runs; what follows is computed with it.
// CHECK-LABEL: func.func @groups(
// CHECK:         %0 = native.kernel "grouped_product"(%x, %w, %ends) : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<2xi32>) -> tensor<3x2xf32> {
// CHECK:           %1 = edge.grouped.linear %x_1, %w_1, %ends_1 : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<2xi32>) -> tensor<3x2xf32>
// CHECK:           %2 = edge.relu %1 : tensor<3x2xf32>
// CHECK:           native.yield %2 : tensor<3x2xf32>
// CHECK:         func.return %0 : tensor<3x2xf32>
func.func @groups(%x: tensor<3x2xf32>, %ends: tensor<2xi32>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<4x2xf32>
  %0 = edge.grouped.linear %x, %w, %ends : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<2xi32>) -> tensor<3x2xf32>
  %1 = edge.relu %0 : tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

program.constant @w : tensor<4x4xi8> = #program.data<i8, [1, 2, 3, 4, -5, -6, -7, -8, 1, 2, 3, 4, -5, -6, -7, -8]>
program.constant @s : tensor<4x2xf32> = #program.data<f32, [0.5, 0.25, 0.5, 0.125, 0.5, 0.25, 0.5, 0.125]>

// Quantized matrices of groups are read as they are stored.
// CHECK-LABEL: func.func @integers(
// CHECK:         %0 = native.kernel "quantized_product"(%w, %s, %x, %ends) : (tensor<4x4xi8>, tensor<4x2xf32>, tensor<3x4xf32>, tensor<2xi64>) -> tensor<3x2xf32> {
// CHECK:           %1 = edge.quantized_decomposed.dequantize_per_channel_group %w_1, %s_1
// CHECK:           %2 = edge.grouped.linear %x_1, %1, %ends_1 : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK:           native.yield %2 : tensor<3x2xf32>
func.func @integers(%x: tensor<3x4xf32>, %ends: tensor<2xi64>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<4x4xi8>
  %s = program.get @s : tensor<4x2xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel_group %w, %s {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32} : (tensor<4x4xi8>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %1 = edge.grouped.linear %x, %0, %ends : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// Matrices that are no constants are in no panels: there is no kernel for them.
// CHECK-LABEL: func.func @computed(
// CHECK-NOT:     native.kernel
// CHECK:         edge.grouped.linear
func.func @computed(%x: tensor<3x2xf32>, %w: tensor<4x2xf32>, %ends: tensor<2xi64>) -> tensor<3x2xf32> {
  %0 = edge.grouped.linear %x, %w, %ends : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
