// RUN: et-opt -p narrow-selections,dce %s | filecheck %s

// CHECK-LABEL: func.func @pool
// CHECK-NEXT: %[[P:.*]], %{{.*}} = edge.max_pool2d_with_indices %x {kernel_size = [2, 2]} : (tensor<1x3x4x4xi8>) -> (tensor<1x3x2x2xi8>, tensor<1x3x2x2xi64>)
// CHECK-NEXT: %[[V:.*]] = edge.view_copy %[[P]] {size = [1, 12]} : (tensor<1x3x2x2xi8>) -> tensor<1x12xi8>
// CHECK-NEXT: func.return %[[V]]
func.func @pool(%x: tensor<1x3x4x4xi8>) -> tensor<1x12xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x4x4xi8>) -> tensor<1x3x4x4xf32>
  %1, %2 = edge.max_pool2d_with_indices %0 {kernel_size = [2, 2]} : (tensor<1x3x4x4xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xi64>)
  %3 = edge.view_copy %1 {size = [1, 12]} : (tensor<1x3x2x2xf32>) -> tensor<1x12xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x12xf32>) -> tensor<1x12xi8>
  func.return %4 : tensor<1x12xi8>
}

// Another quantization computes.
// CHECK-LABEL: func.func @scale
// CHECK: edge.view_copy %{{.*}} -> tensor<4xf32>
func.func @scale(%x: tensor<2x2xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = edge.view_copy %0 {size = [4]} : (tensor<2x2xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// The floats are read by others.
// CHECK-LABEL: func.func @shared
// CHECK: edge.view_copy %{{.*}} -> tensor<4xf32>
func.func @shared(%x: tensor<2x2xi8>) -> (tensor<4xi8>, tensor<4xf32>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = edge.view_copy %0 {size = [4]} : (tensor<2x2xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2, %1 : tensor<4xi8>, tensor<4xf32>
}
