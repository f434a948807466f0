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

// What is quantized stays a delegate.
// CHECK:       backend.lowered @lowered_0 "XnnpackBackend"
// CHECK:       backend.call @lowered_0
xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.convert(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<qint8, [4], {by = "PerTensorQuant", scale = 5.000000e-02 : f32, zero_point = 3 : i64}>
  %2 = xnnpack.convert(%1) ids array<i64: 2> : (!xnnpack.value<qint8, [4], {by = "PerTensorQuant", scale = 5.000000e-02 : f32, zero_point = 3 : i64}>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %2 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
