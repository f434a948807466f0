// RUN: et-opt -p erase-quantized-types %s | filecheck %s
// RUN: et-opt -p infer-quantized-types,erase-quantized-types %s | filecheck %s
// RUN: et-opt -p cse %s | filecheck %s
// RUN: et-opt %s | et-opt -p verify-edge | filecheck %s --check-prefix TYPED

// Passes but those that verify see integers.
// CHECK-LABEL: @forward(%x: tensor<4xi8>) -> (tensor<2x2xi8>, tensor<4xf32>)
// CHECK-NEXT: edge.quantized_decomposed.dequantize_per_tensor %x {{.*}} : (tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT: edge.view_copy %x {size = [2, 2]} : (tensor<4xi8>) -> tensor<2x2xi8>
// TYPED: func.func @forward(%x: tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>) -> (tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>, tensor<4xf32>)
func.func @forward(%x: tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>) -> (tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>, tensor<4xf32>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.1, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>) -> tensor<4xf32>
  %1 = edge.view_copy %x {size = [2, 2]} : (tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>) -> tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>
  func.return %1, %0 : tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 0.1, zero_point = 3>>, tensor<4xf32>
}
