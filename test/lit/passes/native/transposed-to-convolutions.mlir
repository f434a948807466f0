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
