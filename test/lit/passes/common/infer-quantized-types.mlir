// RUN: et-opt -p infer-quantized-types %s | filecheck %s
// RUN: et-opt -p infer-quantized-types %s | et-opt -p verify-edge | filecheck %s
// RUN: et-opt -p infer-quantized-types,infer-quantized-types %s | filecheck %s

program.constant @weight : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, 5, 6, 7, -7]>
program.constant @scales : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @group_scales : tensor<2x2xf32> = #program.data<f32, [0.5, 0.25, 1.0, 2.0]>
program.constant @many : tensor<9xf32> = #program.data<f32, [0.5, 0.25, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]>

// CHECK-LABEL: @forward
func.func @forward(%x: tensor<2x4xf32>, %y: tensor<9xf32>, %z: tensor<9xi64>) -> (tensor<4x2xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<9xi8>, tensor<2x4xf32>) {
  // One scale goes with what is moved.
  // CHECK: quantize_per_tensor %x {{.*}}!program.quantized<i8 [-128, 127], tensor, scale = 0.012345679, zero_point = 3>
  %q = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.0123456789, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  // CHECK: permute_copy {{.*}}!program.quantized<i8 [-128, 127], tensor, scale = 0.012345679, zero_point = 3>
  %t = edge.permute_copy %q {dims = [1, 0]} : (tensor<2x4xi8>) -> tensor<4x2xi8>
  // CHECK: dequantize_per_tensor {{.*}}dtype = i8} : (
  %0 = edge.quantized_decomposed.dequantize_per_tensor %t {scale = 0.0123456789, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  // CHECK: program.get @weight : tensor<2x4x!program.quantized<i8 [-127, 127], channel 0, scale = [0.5, 0.25], zero_point = 0>>
  %w = program.get @weight : tensor<2x4xi8>
  %s = program.get @scales : tensor<2xf32>
  %1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, none {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  // CHECK: program.get @weight : tensor<2x4x!program.quantized<i8 [-8, 7], group 2, scale = [0.5, 0.25, 1, 2], zero_point = 0>>
  %v = program.get @weight : tensor<2x4xi8>
  %g = program.get @group_scales : tensor<2x2xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel_group %v, %g, none {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x2xf32>) -> tensor<2x4xf32>
  // CHECK: quantize_per_channel {{.*}}!program.quantized<i8 [-128, 127], channel 0, scale = 9 in [0.25, 7] "a0e86c08", zero_point = ?>
  %m = program.get @many : tensor<9xf32>
  %3 = edge.quantized_decomposed.quantize_per_channel %y, %m, %z {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<9xf32>, tensor<9xf32>, tensor<9xi64>) -> tensor<9xi8>
  %rs, %rz = edge.quantized_decomposed.choose_qparams_per_token_asymmetric %x {dtype = i8} : (tensor<2x4xf32>) -> (tensor<2x1xf64>, tensor<2x1xi64>)
  // CHECK: quantize_per_token {{.*}}!program.quantized<i8 [-128, 127], token, scale = ?, zero_point = ?>
  %r = edge.quantized_decomposed.quantize_per_token %x, %rs, %rz {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x4xi8>
  %4 = edge.quantized_decomposed.dequantize_per_token %r, %rs, %rz {quant_min = -128, quant_max = 127, dtype = i8, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x4xf32>
  func.return %0, %1, %2, %3, %4 : tensor<4x2xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<9xi8>, tensor<2x4xf32>
}

// Inputs and outputs have types, too.
// CHECK-LABEL: @integers(
// CHECK-SAME: %x: tensor<4x!program.quantized<i8 [-128, 127], tensor, scale = 1.0e-06, zero_point = 3>>) -> (tensor<2x2x!program.quantized<i8 [-128, 127], tensor, scale = 1.0e-06, zero_point = 3>>, tensor<4xf32>)
func.func @integers(%x: tensor<4xi8>) -> (tensor<2x2xi8>, tensor<4xf32>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 1.0e-06, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.view_copy %x {size = [2, 2]} : (tensor<4xi8>) -> tensor<2x2xi8>
  func.return %1, %0 : tensor<2x2xi8>, tensor<4xf32>
}

// Operations that do not agree leave a value as integers.
// CHECK-LABEL: @ambiguous
func.func @ambiguous(%x: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: : (tensor<4xi8>) -> tensor<4xf32>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 1.0, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  // CHECK: : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 2.0, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// So do branches, whose operands and results are integers.
// CHECK-LABEL: @branches
func.func @branches(%p: tensor<i1>, %x: tensor<4xi8>) -> tensor<4xf32> {
  // CHECK: control.cond
  // CHECK-SAME: tensor<4xi8>
  %0 = control.cond %p : tensor<i1> -> (tensor<4xi8>) {
    control.yield %x : tensor<4xi8>
  } else {
    control.yield %x : tensor<4xi8>
  }
  %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 2.0, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
