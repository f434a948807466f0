// RUN: et-opt -p constant-fold --split-input-file %s | filecheck %s
// RUN: et-opt -p 'constant-fold{dequantize=true}' --split-input-file %s | filecheck %s --check-prefix=FLOAT

// Quantised weights stay integers, however small they are, and what moves them once they are restored stays with them.
program.buffer @w : tensor<2x3xi8> = #program.data<i8, [1, 2, 3, 4, 5, 6]>
// CHECK-LABEL: func.func @weight
// FLOAT-LABEL: func.func @weight
func.func @weight(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  // CHECK: %[[W:.*]] = program.get @w : tensor<2x3xi8>
  // CHECK-NEXT: aten.quantized_decomposed.dequantize_per_tensor %[[W]]
  // CHECK-NEXT: aten.permute
  // FLOAT-NEXT: %[[C:.*]] = program.get @{{.*}} : tensor<3x2xf32>
  // FLOAT-NEXT: aten.mm %x, %[[C]]
  %w = program.get @w : tensor<2x3xi8>
  %0 = aten.quantized_decomposed.dequantize_per_tensor %w {scale = 0.5, zero_point = 1, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = aten.permute %0 {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = aten.mm %x, %1 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  func.return %2 : tensor<4x2xf32>
}

// -----

// A constant that is quantised in the program is quantised at compile time: the file shrinks.
program.parameter @f : tensor<4xf32> = #program.data<f32, [0.5, 1.0, -1.0, 100.0]>
// CHECK: program.constant @{{.*}} : tensor<4xi8> = #program.data<i8, [2, 3, -1, 127]>
// CHECK-LABEL: func.func @quantised
func.func @quantised() -> tensor<4xf32> {
  // CHECK-NEXT: program.get @{{.*}} : tensor<4xi8>
  // CHECK-NEXT: aten.quantized_decomposed.dequantize_per_tensor
  %f = program.get @f : tensor<4xf32>
  %0 = aten.quantized_decomposed.quantize_per_tensor %f {scale = 0.5, zero_point = 1, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %1 = aten.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = 1, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
