// RUN: et-opt -p volumes-to-images,dce --split-input-file %s | filecheck %s

// A volume is images with the planes under the taps as channels.
program.constant @w : tensor<2x1x2x1x3xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]>

// CHECK:       program.constant @w_planes : tensor<2x2x1x3xf32>
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:  %[[W:.*]] = program.get @w_planes
// CHECK-NEXT:  %[[P:.*]] = edge.permute_copy %x {dims = [0, 2, 1, 3, 4]}
// CHECK-NEXT:  %[[A:.*]] = edge.slice_copy.Tensor %[[P]] {dim = 1, start = 0, end = -1}
// CHECK-NEXT:  %[[B:.*]] = edge.slice_copy.Tensor %[[P]] {dim = 1, start = 1{{.*}}}
// CHECK-NEXT:  %[[C:.*]] = edge.cat [%[[A]], %[[B]]] {dim = 2} : {{.*}} -> tensor<1x4x2x?x6xf32, #program.sizes<s0>>
// CHECK:       %[[I:.*]] = edge.view_copy %[[C]] {{.*}} -> tensor<4x2x?x6xf32, #program.sizes<s0>>
// CHECK:       edge.convolution %[[I]], %[[W]] {stride = [1, 2], padding = [0, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1}
// CHECK:       edge.permute_copy %{{.*}} {dims = [0, 2, 1, 3, 4]}
func.func @forward(%x: tensor<1x1x5x?x6xf32, #program.sizes<s0>>) -> tensor<1x2x4x?x3xf32, #program.sizes<s0>> {
  %w = program.get @w : tensor<2x1x2x1x3xf32>
  %0 = edge.convolution %x, %w, none {stride = [1, 1, 2], padding = [0, 0, 1], dilation = [1, 1, 1], transposed = false, output_padding = [0, 0, 0], groups = 1} : (tensor<1x1x5x?x6xf32, #program.sizes<s0>>, tensor<2x1x2x1x3xf32>) -> tensor<1x2x4x?x3xf32, #program.sizes<s0>>
  func.return %0 : tensor<1x2x4x?x3xf32, #program.sizes<s0>>
}

// -----

// Known sizes have a kernel.
program.constant @w : tensor<4x2x2x3x3xf32> = #program.data<f32, 144, "w", "0000000000000000000000000000000000000000000000000000000000000000">

// CHECK-LABEL: func.func @known
// CHECK-NOT:   permute
// CHECK:       func.return
func.func @known(%x: tensor<1x2x5x7x6xf32>) -> tensor<1x4x4x5x4xf32> {
  %w = program.get @w : tensor<4x2x2x3x3xf32>
  %0 = edge.convolution %x, %w, none {stride = [1, 1, 1], padding = [0, 0, 0], dilation = [1, 1, 1], transposed = false, output_padding = [0, 0, 0], groups = 1} : (tensor<1x2x5x7x6xf32>, tensor<4x2x2x3x3xf32>) -> tensor<1x4x4x5x4xf32>
  func.return %0 : tensor<1x4x4x5x4xf32>
}
