// RUN: et-opt -p pools-to-means %s | filecheck %s

// CHECK-LABEL: func.func @whole
// CHECK: %[[M:.*]] = edge.mean.dim %{{.*}} {dim = [2, 3], keepdim = true} : (tensor<1x8x5x4xf32>) -> tensor<1x8x1x1xf32>
// CHECK-NEXT: func.return %[[M]]
func.func @whole(%x: tensor<1x8x5x4xi8>) -> tensor<1x8x1x1xf32> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x8x5x4xi8>) -> tensor<1x8x5x4xf32>
  %1 = edge.avg_pool2d %0 {kernel_size = [5, 4]} : (tensor<1x8x5x4xf32>) -> tensor<1x8x1x1xf32>
  func.return %1 : tensor<1x8x1x1xf32>
}

// Other windows, divisors and floats stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: edge.mean
// CHECK: func.return
func.func @others(%x: tensor<1x8x4x4xi8>, %y: tensor<1x8x4x4xf32>) -> (tensor<1x8x2x2xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xf32>
  %1 = edge.avg_pool2d %0 {kernel_size = [2, 2]} : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
  %2 = edge.avg_pool2d %0 {kernel_size = [4, 4], divisor_override = 3} : (tensor<1x8x4x4xf32>) -> tensor<1x8x1x1xf32>
  %3 = edge.avg_pool2d %y {kernel_size = [4, 4]} : (tensor<1x8x4x4xf32>) -> tensor<1x8x1x1xf32>
  func.return %1, %2, %3 : tensor<1x8x2x2xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>
}
