// RUN: not et-opt -p verify-edge %s 2>&1 | filecheck %s

// Messages have the line of the model, and the layer where no constant says it.

program.constant @"fc.scales" : tensor<2xf32> = #program.data<f32, [0.5, 0.0]>

func.func @forward(%w: tensor<2x6xi8>, %x: tensor<4xf32>) -> (tensor<2x6xf32>, tensor<4xi8>) {
  %s = program.get @"fc.scales" : tensor<2xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel %w, %s, none {axis = 0, quant_min = -8, quant_max = 7, dtype = i8} : (tensor<2x6xi8>, tensor<2xf32>) -> tensor<2x6xf32> loc("fc"("model.py":12:4))
  %1 = edge.quantized_decomposed.quantize_per_tensor %x {scale = -0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8> loc("blocks.0.act"("model.py":13:4))
  func.return %0, %1 : tensor<2x6xf32>, tensor<4xi8>
}
// CHECK: model.py:12:4: error: {{.*}}[quantization_c1] 'scales' of @fc.scales has 0 at [1]
// CHECK: model.py:13:4: error: {{.*}}[quantization_c1] 'scale' in blocks.0.act is -0.5
