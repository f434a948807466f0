func.func @forward(%x: tensor<1x4xi8>) -> tensor<1x4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4xi8>) -> tensor<1x4xf32>
  %1 = edge.add.Tensor %0, %0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4xf32>) -> tensor<1x4xi8>
  func.return %2 : tensor<1x4xi8>
}
