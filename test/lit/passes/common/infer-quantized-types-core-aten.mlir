// RUN: et-opt -p infer-quantized-types,verify-core-aten %s | filecheck %s
// RUN: et-opt -p infer-quantized-types %s | et-opt -p verify-core-aten | filecheck %s

// Scales and zero points by tensor, channel, group and token are in the text of Core ATen, as they are at the edge level.

program.constant @weight : tensor<2x4xi8> = #program.data<i8, [1, 2, 3, 4, 5, 6, 7, -7]>
program.constant @scales : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
program.constant @zeros : tensor<2xi64> = #program.data<i64, [3, -3]>
program.constant @group_scales : tensor<2x2xf32> = #program.data<f32, [0.5, 0.25, 1.0, 2.0]>
program.constant @token_scales : tensor<2x1xf32> = #program.data<f32, [0.5, 0.125]>
program.constant @token_zeros : tensor<2x1xi64> = #program.data<i64, [1, 2]>

// CHECK-LABEL: @forward
func.func @forward(%x: tensor<2x4xf32>) -> (tensor<8xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK: quantize_per_tensor %x {{.*}}!program.quantized<i8 [-128, 127], tensor, scale = 0.5, zero_point = 3>
  %q = aten.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  // CHECK: aten.view {{.*}}!program.quantized<i8 [-128, 127], tensor, scale = 0.5, zero_point = 3>
  %v = aten.view %q {size = [8]} : (tensor<2x4xi8>) -> tensor<8xi8>
  %0 = aten.quantized_decomposed.dequantize_per_tensor %v {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<8xi8>) -> tensor<8xf32>
  // CHECK: program.get @weight {{.*}}!program.quantized<i8 [-8, 7], channel 0, scale = [0.5, 0.25], zero_point = [3, -3]>
  %c = program.get @weight : tensor<2x4xi8>
  %s = program.get @scales : tensor<2xf32>
  %z = program.get @zeros : tensor<2xi64>
  %1 = aten.quantized_decomposed.dequantize_per_channel %c, %s, %z {axis = 0, quant_min = -8, quant_max = 7, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  // CHECK: program.get @weight {{.*}}!program.quantized<i8 [-8, 7], group 2, scale = [0.5, 0.25, 1, 2], zero_point = 0>
  %g = program.get @weight : tensor<2x4xi8>
  %gs = program.get @group_scales : tensor<2x2xf32>
  %2 = aten.quantized_decomposed.dequantize_per_channel_group %g, %gs, none {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x2xf32>) -> tensor<2x4xf32>
  // CHECK: quantize_per_token {{.*}}!program.quantized<i8 [-128, 127], token, scale = [0.5, 0.125], zero_point = [1, 2]>
  %ts = program.get @token_scales : tensor<2x1xf32>
  %tz = program.get @token_zeros : tensor<2x1xi64>
  %t = aten.quantized_decomposed.quantize_per_token %x, %ts, %tz {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xi64>) -> tensor<2x4xi8>
  %3 = aten.quantized_decomposed.dequantize_per_token %t, %ts, %tz {quant_min = -128, quant_max = 127, dtype = i8, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x1xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>
  // Of what is chosen at run time: the granularity alone.
  %rs, %rz = aten.quantized_decomposed.choose_qparams_per_token_asymmetric %x {dtype = i8} : (tensor<2x4xf32>) -> (tensor<2x1xf64>, tensor<2x1xi64>)
  // CHECK: quantize_per_token {{.*}}!program.quantized<i8 [-128, 127], token, scale = ?, zero_point = ?>
  %r = aten.quantized_decomposed.quantize_per_token %x, %rs, %rz {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x4xi8>
  %4 = aten.quantized_decomposed.dequantize_per_token %r, %rs, %rz {quant_min = -128, quant_max = 127, dtype = i8, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x4xf32>
  func.return %0, %1, %2, %3, %4 : tensor<8xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
