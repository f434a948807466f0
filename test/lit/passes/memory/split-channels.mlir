// RUN: et-opt -p split-channels --split-input-file %s | filecheck %s

// Groups of channels go through the convolution and the pool one after the other; the function may use part of what has
// been won for the products.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:  attributes {edge.memory = {{[0-9]+}} : i64}
// CHECK:       %[[W0:.*]] = edge.slice_copy.Tensor %w {start = 0, end = 8}
// CHECK-NEXT:  %[[C0:.*]] = edge.convolution %x, %[[W0]] {{.*}} attributes {edge.apart = 0 : i64}
// CHECK-NEXT:  %[[R0:.*]] = edge.relu %[[C0]]
// CHECK-NEXT:  %[[P0:.*]] = edge.avg_pool2d %[[R0]]
// CHECK-NEXT:  %[[W1:.*]] = edge.slice_copy.Tensor %w {start = 8, end = 16}
// CHECK-NEXT:  %[[C1:.*]] = edge.convolution %x, %[[W1]] {{.*}} attributes {edge.apart = 8 : i64}
// CHECK-NEXT:  %[[R1:.*]] = edge.relu %[[C1]]
// CHECK-NEXT:  %[[P1:.*]] = edge.avg_pool2d %[[R1]]
// CHECK:       edge.cat [{{.*}}] {dim = 1}
program.constant @w : tensor<64x2x1x1xf32> = #program.data<f32, 128, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @forward(%x : tensor<1x2x8x8xf32> {program.name = "x"}) -> (tensor<1x64x2x2xf32>) {
  %w = program.get @w : tensor<64x2x1x1xf32>
  %c = edge.convolution %x, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x2x8x8xf32>, tensor<64x2x1x1xf32>) -> tensor<1x64x8x8xf32>
  %r = edge.relu %c : tensor<1x64x8x8xf32>
  %p = edge.avg_pool2d %r {kernel_size = [4, 4], stride = [4, 4]} : (tensor<1x64x8x8xf32>) -> tensor<1x64x2x2xf32>
  func.return %p : tensor<1x64x2x2xf32>
}

// -----

// Depthwise: groups of the argument, which is a view, and as many groups of the convolution.
// CHECK-LABEL: func.func @depthwise
// CHECK:       %[[X0:.*]] = edge.slice_copy.Tensor %a {dim = 1, start = 0, end = {{[0-9]+}}}
// CHECK:       edge.convolution %[[X0]], {{.*}} groups = [[G:[0-9]+]]}
// CHECK:       edge.cat
program.constant @w : tensor<16x1x1x1xf32> = #program.data<f32, 16, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @depthwise(%x : tensor<1x16x8x8xf32> {program.name = "x"}) -> (tensor<1x16x2x2xf32>, tensor<1x16x8x8xf32>) {
  %a = edge.exp %x : tensor<1x16x8x8xf32>
  %w = program.get @w : tensor<16x1x1x1xf32>
  %c = edge.convolution %a, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 16} : (tensor<1x16x8x8xf32>, tensor<16x1x1x1xf32>) -> tensor<1x16x8x8xf32>
  %p = edge.avg_pool2d %c {kernel_size = [4, 4], stride = [4, 4]} : (tensor<1x16x8x8xf32>) -> tensor<1x16x2x2xf32>
  func.return %p, %a : tensor<1x16x2x2xf32>, tensor<1x16x8x8xf32>
}

// -----

// Does not fire: what lies between is used elsewhere, too, and a chain whose result is all that it needs.
// CHECK-LABEL: func.func @stays
// CHECK-NOT:   edge.cat
program.constant @w : tensor<16x2x1x1xf32> = #program.data<f32, 32, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @stays(%x : tensor<1x2x8x8xf32> {program.name = "x"}) -> (tensor<1x16x8x8xf32>, tensor<1x16x2x2xf32>) {
  %w = program.get @w : tensor<16x2x1x1xf32>
  %c = edge.convolution %x, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x2x8x8xf32>, tensor<16x2x1x1xf32>) -> tensor<1x16x8x8xf32>
  %r = edge.relu %c : tensor<1x16x8x8xf32>
  %p = edge.avg_pool2d %r {kernel_size = [4, 4], stride = [4, 4]} : (tensor<1x16x8x8xf32>) -> tensor<1x16x2x2xf32>
  func.return %r, %p : tensor<1x16x8x8xf32>, tensor<1x16x2x2xf32>
}
