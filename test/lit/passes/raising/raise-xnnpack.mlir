// RUN: et-opt -p raise-xnnpack --split-input-file %s | filecheck %s

// A transposition says in which order an image is read: the convolution has the channels first again.
// CHECK-NOT:   xnnpack.
// CHECK:       program.constant @lowered_0_constant : tensor<1x1x1x2xf32> = #program.data<f32, [1.0, 2.0]>
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %0 = program.get @lowered_0_constant : tensor<1x1x1x2xf32>
// CHECK-NEXT:    %1 = edge.permute_copy %0 {dims = [0, 3, 1, 2]} : (tensor<1x1x1x2xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:    %2 = edge.convolution %x, %1
// CHECK-NEXT:    %r = edge.relu %2 : tensor<1x1x4x4xf32>
// CHECK-NEXT:    func.return %r : tensor<1x1x4x4xf32>
xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}, {offset = 0 : i64, size = 8 : i64}] constants #program.data<ui8, [0, 0, 128, 63, 0, 0, 0, 64]> {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [1, 2, 4, 4]>
  %1 = xnnpack.constant 1 id 1 : !xnnpack.value<fp32, [1, 1, 1, 2]>
  %2 = xnnpack.static_transpose(%0) ids array<i64: 2> {num_dims = 4 : i64, perm = array<i64: 0, 2, 3, 1>} : (!xnnpack.value<fp32, [1, 2, 4, 4]>) -> !xnnpack.value<fp32, [1, 4, 4, 2]>
  %3 = xnnpack.conv2d(%2, %1) ids array<i64: 3> {kernel_height = 1 : i64, kernel_width = 1 : i64, subsampling_height = 1 : i64, subsampling_width = 1 : i64, dilation_height = 1 : i64, dilation_width = 1 : i64, group_input_channels = 2 : i64, group_output_channels = 1 : i64, groups = 1 : i64, output_min = 0.0 : f32, output_max = 0x7F800000 : f32} : (!xnnpack.value<fp32, [1, 4, 4, 2]>, !xnnpack.value<fp32, [1, 1, 1, 2]>) -> !xnnpack.value<fp32, [1, 4, 4, 1]>
  %4 = xnnpack.static_transpose(%3) ids array<i64: 4> {num_dims = 4 : i64, perm = array<i64: 0, 3, 1, 2>} : (!xnnpack.value<fp32, [1, 4, 4, 1]>) -> !xnnpack.value<fp32, [1, 1, 4, 4]>
  xnnpack.output %4 arguments array<i64: 1> : !xnnpack.value<fp32, [1, 1, 4, 4]>
}
func.func @forward(%x: tensor<1x2x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %r = backend.call @lowered_0(%x) : (tensor<1x2x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %r : tensor<1x1x4x4xf32>
}

// -----

// Values of integers are quantized and restored around ops of real numbers; weights stay integers, and sums of 32 bits
// are the numbers that they stand for.
// CHECK-NOT:   xnnpack.
// CHECK-DAG:   program.constant @[[W:lowered_0_constant.*]] : tensor<2x2xi8> = #program.data<i8, [1, 2, 3, -4]>
// CHECK-DAG:   program.constant @[[S:lowered_0_constant.*]] : tensor<2xf32> = #program.data<f32, [0.5, 0.25]>
// CHECK-DAG:   program.constant @[[B:lowered_0_constant.*]] : tensor<2xf32> = #program.data<f32, [1.0, 1.0]>
// CHECK-LABEL: func.func @forward
// CHECK:         %[[Q:.*]] = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8}
// CHECK-NEXT:    %[[X:.*]] = edge.quantized_decomposed.dequantize_per_tensor %[[Q]] {scale = 0.5, zero_point = 3,
// CHECK:         edge.quantized_decomposed.dequantize_per_channel {{.*}} {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xi8>, tensor<2xf32>)
// CHECK:         %[[Y:.*]] = edge.linear %[[X]],
// CHECK-NEXT:    %[[R:.*]] = edge.relu %[[Y]]
// CHECK-NEXT:    %[[O:.*]] = edge.quantized_decomposed.quantize_per_tensor %[[R]] {scale = 0.25, zero_point = 0,
// CHECK-NEXT:    %{{.*}} = edge.quantized_decomposed.dequantize_per_tensor %[[O]]
xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}, {offset = 0 : i64, size = 4 : i64}, {offset = 4 : i64, size = 8 : i64}, {offset = 12 : i64, size = 8 : i64}, {offset = 20 : i64, size = 8 : i64}] constants #program.data<ui8, [1, 2, 3, 252, 0, 0, 0, 63, 0, 0, 128, 62, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 128, 62, 0, 0, 0, 62]> {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [1, 2]>
  %1 = xnnpack.constant 1 id 1 : !xnnpack.value<qcint8, [2, 2], {by = "PerChannelQuant", scale_buffer_idx = 2 : i64, num_scales = 2 : i64}>
  %2 = xnnpack.constant 3 id 2 : !xnnpack.value<qcint32, [2], {by = "PerChannelQuant", scale_buffer_idx = 4 : i64, num_scales = 2 : i64}>
  %3 = xnnpack.convert(%0) ids array<i64: 3> : (!xnnpack.value<fp32, [1, 2]>) -> !xnnpack.value<qint8, [1, 2], {by = "PerTensorQuant", scale = 5.000000e-01 : f32, zero_point = 3 : i64}>
  %4 = xnnpack.fully_connected(%3, %1, %2) ids array<i64: 4> {output_min = 0.0 : f32, output_max = 0x7F800000 : f32} : (!xnnpack.value<qint8, [1, 2], {by = "PerTensorQuant", scale = 5.000000e-01 : f32, zero_point = 3 : i64}>, !xnnpack.value<qcint8, [2, 2], {by = "PerChannelQuant", scale_buffer_idx = 2 : i64, num_scales = 2 : i64}>, !xnnpack.value<qcint32, [2], {by = "PerChannelQuant", scale_buffer_idx = 4 : i64, num_scales = 2 : i64}>) -> !xnnpack.value<qint8, [1, 2], {by = "PerTensorQuant", scale = 2.500000e-01 : f32}>
  %5 = xnnpack.convert(%4) ids array<i64: 5> : (!xnnpack.value<qint8, [1, 2], {by = "PerTensorQuant", scale = 2.500000e-01 : f32}>) -> !xnnpack.value<fp32, [1, 2]>
  xnnpack.output %5 arguments array<i64: 1> : !xnnpack.value<fp32, [1, 2]>
}
func.func @forward(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %r = backend.call @lowered_0(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %r : tensor<1x2xf32>
}

// -----

// Rows that are quantized while the graph runs, and 4-bit weights in groups, whose scales are bf16.
// CHECK-NOT:   xnnpack.
// CHECK-DAG:   tensor<1x4xi8> = #program.data<i8, [-7, -6, 7, -8]>
// CHECK-DAG:   tensor<1x2xf32> = #program.data<f32, [0.5, 2.0]>
// CHECK-LABEL: func.func @forward
// CHECK:         %[[W:.*]] = edge.quantized_decomposed.dequantize_per_channel_group {{.*}} {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2, output_dtype = f32}
// CHECK:         edge.amin %x {dim = [-1]} : (tensor<2x4xf32>) -> tensor<2xf32>
// CHECK:         %[[X:.*]] = edge.quantized_decomposed.dequantize_per_channel {{.*}} : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi64>)
// CHECK-NEXT:    %r = edge.linear %[[X]], %[[W]]
xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}, {offset = 0 : i64, size = 2 : i64}, {offset = 2 : i64, size = 4 : i64}] constants #program.data<ui8, [33, 15, 0, 63, 0, 64]> {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [2, 4]>
  %1 = xnnpack.constant 1 id 1 : !xnnpack.value<qbint4, [1, 4], {by = "PerChannelGroupQuant", group_size = 2 : i64, scale_buffer_idx = 2 : i64, num_scales = 2 : i64}>
  %2 = xnnpack.convert(%0) ids array<i64: 2> : (!xnnpack.value<fp32, [2, 4]>) -> !xnnpack.value<qdint8, [2, 4], {by = "PerTokenDynamicQuant", num_nonbatch_dims = 1 : i64}>
  %3 = xnnpack.fully_connected(%2, %1) ids array<i64: 3> : (!xnnpack.value<qdint8, [2, 4], {by = "PerTokenDynamicQuant", num_nonbatch_dims = 1 : i64}>, !xnnpack.value<qbint4, [1, 4], {by = "PerChannelGroupQuant", group_size = 2 : i64, scale_buffer_idx = 2 : i64, num_scales = 2 : i64}>) -> !xnnpack.value<fp32, [2, 1]>
  xnnpack.output %3 arguments array<i64: 1> : !xnnpack.value<fp32, [2, 1]>
}
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x1xf32> {
  %r = backend.call @lowered_0(%x) : (tensor<2x4xf32>) -> tensor<2x1xf32>
  func.return %r : tensor<2x1xf32>
}

// -----

// A graph with a node that has no counterpart stays a delegate.
// CHECK:       backend.lowered @lowered_0 "XnnpackBackend"
// CHECK:       backend.call @lowered_0
xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [2, 4]>
  %1 = xnnpack.convert(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [2, 4]>) -> !xnnpack.value<qdint8, [2, 4], {by = "PerTokenDynamicQuant", num_nonbatch_dims = 1 : i64}>
  %2 = xnnpack.softmax(%1) ids array<i64: 2> : (!xnnpack.value<qdint8, [2, 4], {by = "PerTokenDynamicQuant", num_nonbatch_dims = 1 : i64}>) -> !xnnpack.value<fp32, [2, 4]>
  xnnpack.output %2 arguments array<i64: 1> : !xnnpack.value<fp32, [2, 4]>
}
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = backend.call @lowered_0(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}

// -----

// So does one that a call gives another number of arguments, or whose node has dimensions that there are not.
// CHECK:       backend.lowered @fewer "XnnpackBackend"
// CHECK-NEXT:  backend.lowered @perm "XnnpackBackend"
// CHECK-NEXT:  backend.lowered @pads "XnnpackBackend"
// CHECK-NEXT:  backend.lowered @image "XnnpackBackend"
// CHECK-NEXT:  backend.lowered @rank "XnnpackBackend"
xnnpack.graph @fewer version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.abs(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
xnnpack.graph @perm version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.static_transpose(%0) ids array<i64: 1> {num_dims = 3 : i64, perm = array<i64: 1, 2, 3>} : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
xnnpack.graph @pads version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.static_constant_pad(%0) ids array<i64: 1> {post_paddings = array<i64: 1>} : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
xnnpack.graph @image version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.max_pooling2d(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
xnnpack.graph @rank version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.abs(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [2, 2]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [2, 2]>
}
func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  %0 = backend.call @fewer() : () -> tensor<4xf32>
  %1 = backend.call @perm(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = backend.call @pads(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = backend.call @image(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = backend.call @rank(%x) : (tensor<4xf32>) -> tensor<2x2xf32>
  func.return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}
