// RUN: et-opt -p transposed-to-convolutions,dce --split-input-file %s | filecheck %s

// The two phases of each channel are channels of a convolution; each has two of the four taps.
program.constant @w : tensor<1x2x4xf32> = #program.data<f32, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]>
program.constant @b : tensor<2xf32> = #program.data<f32, [0.5, 1.5]>

// CHECK:       program.constant @w_phases : tensor<4x1x2xf32> = #program.data<f32, [2.0, 0.0, 3.0, 1.0, 6.0, 4.0, 7.0, 5.0]>
// CHECK-NEXT:  program.constant @b_repeated : tensor<4xf32> = #program.data<f32, [0.5, 0.5, 1.5, 1.5]>
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:  %[[W:.*]] = program.get @w_phases
// CHECK-NEXT:  %[[B:.*]] = program.get @b_repeated
// CHECK-NEXT:  %[[Y:.*]] = edge.convolution %x, %[[W]], %[[B]] {stride = [1], padding = [1], dilation = [1], transposed = false, output_padding = [0], groups = 1}
// CHECK-NEXT:  %[[N:.*]] = edge.sym_size.int %[[Y]] {dim = 2}
// CHECK-NEXT:  %[[PARTS:.*]] = edge.view_copy %[[Y]] {size = [1, 2, 2, %[[N]]]}
// CHECK-NEXT:  %[[NEAR:.*]] = edge.permute_copy %[[PARTS]] {dims = [0, 1, 3, 2]}
// CHECK-NEXT:  %[[TWO:.*]] = program.literal 2
// CHECK-NEXT:  %[[M:.*]] = program.compute "mul" %[[N]], %[[TWO]]
// CHECK-NEXT:  %[[ALL:.*]] = edge.view_copy %[[NEAR]] {size = [1, 2, %[[M]]]} : {{.*}} -> tensor<1x2x?xf32, #program.sizes<2*s0 + 2>>
// CHECK-NEXT:  %[[CUT:.*]] = edge.slice_copy.Tensor %[[ALL]] {dim = 2, start = 1, end = -1} : {{.*}} -> tensor<1x2x?xf32, #program.sizes<2*s0>>
// CHECK-NEXT:  func.return %[[CUT]]
func.func @forward(%x: tensor<1x1x?xf32, #program.sizes<s0>>) -> tensor<1x2x?xf32, #program.sizes<2*s0>> {
  %w = program.get @w : tensor<1x2x4xf32>
  %b = program.get @b : tensor<2xf32>
  %0 = edge.convolution %x, %w, %b {stride = [2], padding = [1], dilation = [1], transposed = true, output_padding = [0], groups = 1} : (tensor<1x1x?xf32, #program.sizes<s0>>, tensor<1x2x4xf32>, tensor<2xf32>) -> tensor<1x2x?xf32, #program.sizes<2*s0>>
  func.return %0 : tensor<1x2x?xf32, #program.sizes<2*s0>>
}

// -----

// Without strides there is one phase, and the padding of the result is less of the image's.
program.constant @w : tensor<1x1x3xf32> = #program.data<f32, [0.0, 1.0, 2.0]>

// CHECK:       program.constant @w_phases : tensor<1x1x3xf32> = #program.data<f32, [2.0, 1.0, 0.0]>
// CHECK-LABEL: func.func @one
// CHECK:       %[[Y:.*]] = edge.convolution %x, %{{.*}} {stride = [1], padding = [1], dilation = [1], transposed = false, output_padding = [0], groups = 1}
// CHECK-NEXT:  func.return %[[Y]]
func.func @one(%x: tensor<1x1x?xf32, #program.sizes<s0>>) -> tensor<1x1x?xf32, #program.sizes<s0>> {
  %w = program.get @w : tensor<1x1x3xf32>
  %0 = edge.convolution %x, %w, none {stride = [1], padding = [1], dilation = [1], transposed = true, output_padding = [0], groups = 1} : (tensor<1x1x?xf32, #program.sizes<s0>>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32, #program.sizes<s0>>
  func.return %0 : tensor<1x1x?xf32, #program.sizes<s0>>
}

// -----

// Known sizes have kernels of their own.
program.constant @w : tensor<1x1x2xf32> = #program.data<f32, [0.0, 1.0]>

// CHECK-LABEL: func.func @known
// CHECK:       transposed = true
func.func @known(%x: tensor<1x1x6xf32>) -> tensor<1x1x12xf32> {
  %w = program.get @w : tensor<1x1x2xf32>
  %0 = edge.convolution %x, %w, none {stride = [2], padding = [0], dilation = [1], transposed = true, output_padding = [0], groups = 1} : (tensor<1x1x6xf32>, tensor<1x1x2xf32>) -> tensor<1x1x12xf32>
  func.return %0 : tensor<1x1x12xf32>
}

// -----

// Integers are rearranged and scales repeated, also where sizes are known, as there are no kernels for integers else.
program.constant @w : tensor<1x2x2x2xi8> = #program.data<i8, [0, 1, 2, 3, 4, 5, 6, 7]>
program.constant @s : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>

// CHECK:       program.constant @w_phases : tensor<8x1x1x1xi8> = #program.data<i8, [0, 1, 2, 3, 4, 5, 6, 7]>
// CHECK-NEXT:  program.constant @s_repeated : tensor<8xf32> = #program.data<f32, [0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]>
// CHECK-LABEL: func.func @integers
// CHECK:       %[[W:.*]] = edge.quantized_decomposed.dequantize_per_channel %{{.*}}, %{{.*}} {axis = 0, quant_min = -127, quant_max = 127, dtype = i8}
// CHECK-NEXT:  %[[Y:.*]] = edge.convolution %{{.*}}, %[[W]] {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false
// CHECK-NEXT:  %[[ALL:.*]] = edge.pixel_shuffle %[[Y]] {upscale_factor = 2} : (tensor<1x8x3x3xf32>) -> tensor<1x2x6x6xf32>
// CHECK-NEXT:  func.return %[[ALL]]
func.func @integers(%x: tensor<1x1x3x3xi8>) -> tensor<1x2x6x6xf32> {
  %w = program.get @w : tensor<1x2x2x2xi8>
  %s = program.get @s : tensor<2xf32>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.1, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x1x3x3xi8>) -> tensor<1x1x3x3xf32>
  %1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, none {axis = 1, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xi8>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %2 = edge.convolution %0, %1, none {stride = [2, 2], padding = [0, 0], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1} : (tensor<1x1x3x3xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x6x6xf32>
  func.return %2 : tensor<1x2x6x6xf32>
}
