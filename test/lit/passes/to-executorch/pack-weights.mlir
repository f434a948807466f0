// RUN: et-opt -p 'pack-weights{target=et-vm}' %s | filecheck %s
// RUN: et-opt -p 'pack-weights{target=et-vm},verify-edge' %s | filecheck %s
// RUN: et-opt -p 'pack-weights{target="%stock"}' %s | filecheck %s --check-prefix=WITHOUT

// A target without the kernels keeps what it has.
// WITHOUT-NOT: embedding_

// 4-bit numbers plus 8, the lower column in the high half; 2-bit numbers plus 2 from the low end.
// CHECK-DAG: program.constant @{{.*}}four_4bit{{.*}} : tensor<2x2xui8> = #program.data<ui8, [15, 120, 155, 141]>
// CHECK-DAG: program.constant @{{.*}}two_2bit{{.*}} : tensor<2x1xui8> = #program.data<ui8, [228, 27]>
// CHECK-DAG: program.constant @{{.*}}zeros_f32{{.*}} : tensor<2xf32> = #program.data<f32, [1.0, -1.0]>
// CHECK-DAG: program.constant @{{.*}}rows_2{{.*}} : tensor<2xi64> = #program.data<i64, [0, 1]>
program.constant @four : tensor<2x4xi8> = #program.data<i8, [-8, 7, -1, 0, 1, 3, 0, 5]>
program.constant @two : tensor<2x4xi8> = #program.data<i8, [-2, -1, 0, 1, 1, 0, -1, -2]>
program.constant @eight : tensor<2x4xi8> = #program.data<i8, [-128, 7, -1, 0, 1, 3, 0, 127]>
program.constant @odd : tensor<2x3xi8> = #program.data<i8, [-8, 7, -1, 0, 1, 3]>
program.constant @tall : tensor<3x9xi8> = #program.data<i8, [-8, 7, -1, 0, 1, 3, 5, 6, 7, -8, 7, -1, 0, 1, 3, 5, 6, 7, -8, 7, -1, 0, 1, 3, 5, 6, 7]>
program.constant @tall_group_scales : tensor<3x3xf32> = #program.data<f32, [0.5, 0.25, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]>
program.constant @scales : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @zeros : tensor<2xi64> = #program.data<i64, [1, -1]>
program.constant @none : tensor<2x2xi64> = #program.data<i64, [0, 0, 0, 0]>
program.constant @group_scales : tensor<2x2xf32> = #program.data<f32, [0.5, 0.25, 1.0, 2.0]>

// CHECK-LABEL: @weights
func.func @weights() -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %four = program.get @four : tensor<2x4xi8>
  %groups = program.get @group_scales : tensor<2x2xf32>
  %none = program.get @none : tensor<2x2xi64>
  // CHECK: embedding_4bit {{%[^,]*}}, %groups, none, {{.*}} {weight_quant_min = -8, weight_quant_max = 7}
  %0 = edge.quantized_decomposed.dequantize_per_channel_group %four, %groups, %none {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<2x4xf32>
  %two = program.get @two : tensor<2x4xi8>
  %scales = program.get @scales : tensor<2xf32>
  %zeros = program.get @zeros : tensor<2xi64>
  // CHECK: embedding_2bit {{.*}} {weight_quant_min = -2, weight_quant_max = 1}
  %1 = edge.quantized_decomposed.dequantize_per_channel %two, %scales, %zeros {axis = 0, quant_min = -2, quant_max = 1, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  // Bytes gain nothing.
  // CHECK: dequantize_per_channel %eight
  %eight = program.get @eight : tensor<2x4xi8>
  %2 = edge.quantized_decomposed.dequantize_per_channel %eight, %scales, none {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  func.return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// Rows of odd length: two are one with a scale for each, the last with a row of zeros; rows that are looked up have a
// column, or a group, of zeros behind them.
// CHECK-LABEL: @odd_rows
func.func @odd_rows(%indices: tensor<2xi64>) -> (tensor<2x3xf32>, tensor<3x9xf32>, tensor<2x3xf32>) {
  %scales = program.get @scales : tensor<2xf32>
  %w = program.get @odd : tensor<2x3xi8>
  // CHECK: %[[P:.*]] = program.get @odd_4bit{{.*}} : tensor<1x3xui8>
  // CHECK: %[[S:.*]] = program.get @odd_scales{{.*}} : tensor<1x2xf32>
  // CHECK: %[[R:.*]] = edge.quantized_decomposed.embedding_4bit %[[P]], %[[S]], none, {{.*}} -> tensor<1x6xf32>
  // CHECK-NEXT: edge.view_copy %[[R]] {size = [2, 3]}
  %0 = edge.quantized_decomposed.dequantize_per_channel %w, %scales, none {axis = 0, quant_min = -8, quant_max = 7, dtype = i8} : (tensor<2x3xi8>, tensor<2xf32>) -> tensor<2x3xf32>
  %t = program.get @tall : tensor<3x9xi8>
  %ts = program.get @tall_group_scales : tensor<3x3xf32>
  // CHECK: embedding_4bit {{.*}} : (tensor<2x9xui8>, tensor<2x6xf32>, tensor<2xi64>) -> tensor<2x18xf32>
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy {{.*}} {size = [4, 9]}
  // CHECK-NEXT: edge.slice_copy.Tensor %[[V]] {start = 0, end = 3}
  %1 = edge.quantized_decomposed.dequantize_per_channel_group %t, %ts, none {quant_min = -8, quant_max = 7, dtype = i8, group_size = 3, output_dtype = f32} : (tensor<3x9xi8>, tensor<3x3xf32>) -> tensor<3x9xf32>
  // CHECK: embedding_4bit {{.*}}, %indices {{.*}} : (tensor<2x2xui8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  // CHECK-NEXT: edge.slice_copy.Tensor {{.*}} {dim = -1, start = 0, end = 3}
  %2 = edge.quantized_decomposed.dequantize_per_channel %w, %scales, none {axis = 0, quant_min = -8, quant_max = 7, dtype = i8} : (tensor<2x3xi8>, tensor<2xf32>) -> tensor<2x3xf32>
  %3 = edge.embedding %2, %indices : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return %0, %1, %3 : tensor<2x3xf32>, tensor<3x9xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @tables
func.func @tables(%indices: tensor<3xi64>, %narrow: tensor<3xi32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %scales = program.get @scales : tensor<2xf32>
  %eight = program.get @eight : tensor<2x4xi8>
  // CHECK: embedding_byte %eight, %scales, none, %indices {weight_quant_min = -128, weight_quant_max = 127}
  %0 = edge.quantized_decomposed.dequantize_per_channel %eight, %scales, none {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %1 = edge.embedding %0, %indices : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %four = program.get @four : tensor<2x4xi8>
  // CHECK: embedding_4bit {{.*}}, %indices
  %2 = edge.quantized_decomposed.dequantize_per_channel %four, %scales, none {axis = 0, quant_min = -8, quant_max = 7, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %3 = edge.embedding %2, %indices : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  // Kernels take indices of 64 bits, and one scale for a row.
  // CHECK: dequantize_per_channel %eight
  // CHECK: edge.embedding
  %columns = edge.quantized_decomposed.dequantize_per_channel %eight, %scales, none {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %4 = edge.embedding %columns, %narrow : (tensor<2x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  func.return %1, %3, %4 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
