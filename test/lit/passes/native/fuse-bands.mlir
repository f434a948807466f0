// RUN: et-opt -p form-kernels,fuse-bands{cache=1000} --split-input-file %s | filecheck %s

// A depthwise convolution becomes a kernel with the 1x1 convolutions before and after it, whose images are large.
// CHECK-LABEL: func.func @block
// CHECK:         %0 = native.kernel "bands"(%x, %e, %d, %p) : (tensor<1x8x6x5xf32>, tensor<16x8x1x1xf32>, tensor<16x1x3x3xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x6x5xf32> {
// CHECK-NEXT:    ^bb0(%x_1: tensor<1x8x6x5xf32>, %e_1: tensor<16x8x1x1xf32>, %d_1: tensor<16x1x3x3xf32>, %p_1: tensor<8x16x1x1xf32>):
// CHECK-NEXT:      %1 = native.kernel "convolution"(%x_1, %e_1)
// CHECK:             edge.convolution
// CHECK-NEXT:        edge.relu
// CHECK:           %[[D:.*]] = native.kernel "depthwise"(%1, %d_1)
// CHECK:           %[[P:.*]] = native.kernel "convolution"(%[[D]], %p_1, %x_1)
// CHECK:             edge.add.Tensor
// CHECK:           native.yield %[[P]] : tensor<1x8x6x5xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %0
program.parameter @e : tensor<16x8x1x1xf32> = #program.data<f32, 128, "e", "0000000000000000000000000000000000000000000000000000000000000000">
program.parameter @d : tensor<16x1x3x3xf32> = #program.data<f32, 144, "d", "0000000000000000000000000000000000000000000000000000000000000000">
program.parameter @p : tensor<8x16x1x1xf32> = #program.data<f32, 128, "p", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @block(%x: tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32> {
  %e = program.get @e : tensor<16x8x1x1xf32>
  %d = program.get @d : tensor<16x1x3x3xf32>
  %p = program.get @p : tensor<8x16x1x1xf32>
  %0 = edge.convolution %x, %e {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x8x6x5xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x6x5xf32>
  %1 = edge.relu %0 : tensor<1x16x6x5xf32>
  %2 = edge.convolution %1, %d {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 16} : (tensor<1x16x6x5xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x6x5xf32>
  %3 = edge.convolution %2, %p {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x16x6x5xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x6x5xf32>
  %4 = edge.add.Tensor %3, %x : (tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32>
  func.return %4 : tensor<1x8x6x5xf32>
}

// -----

// A small image stays in the cache as it is.
// CHECK-LABEL: func.func @small
// CHECK-NOT:     "bands"
program.parameter @d : tensor<16x1x3x3xf32> = #program.data<f32, 144, "d", "0000000000000000000000000000000000000000000000000000000000000000">
program.parameter @p : tensor<8x16x1x1xf32> = #program.data<f32, 128, "p", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @small(%x: tensor<1x16x2x5xf32>) -> tensor<1x8x2x5xf32> {
  %d = program.get @d : tensor<16x1x3x3xf32>
  %p = program.get @p : tensor<8x16x1x1xf32>
  %0 = edge.convolution %x, %d {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 16} : (tensor<1x16x2x5xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x2x5xf32>
  %1 = edge.convolution %0, %p {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x16x2x5xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x2x5xf32>
  func.return %1 : tensor<1x8x2x5xf32>
}

// -----

// What something else reads too is written to memory.
// CHECK-LABEL: func.func @read_twice
// CHECK-NOT:     "bands"
program.parameter @d : tensor<16x1x3x3xf32> = #program.data<f32, 144, "d", "0000000000000000000000000000000000000000000000000000000000000000">
program.parameter @p : tensor<8x16x1x1xf32> = #program.data<f32, 128, "p", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @read_twice(%x: tensor<1x16x6x5xf32>) -> (tensor<1x8x6x5xf32>, tensor<1x16x6x5xf32>) {
  %d = program.get @d : tensor<16x1x3x3xf32>
  %p = program.get @p : tensor<8x16x1x1xf32>
  %0 = edge.convolution %x, %d {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 16} : (tensor<1x16x6x5xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x6x5xf32>
  %1 = edge.convolution %0, %p {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x16x6x5xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x6x5xf32>
  func.return %1, %0 : tensor<1x8x6x5xf32>, tensor<1x16x6x5xf32>
}
