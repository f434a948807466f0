// RUN: et-opt -p form-kernels,fuse-concatenations --split-input-file %s | filecheck %s

// A convolution copies its image into a border: it copies what the image is concatenated of.
// CHECK-LABEL: func.func @joined
// CHECK-NEXT:    program.get @w
// CHECK-NEXT:    %0 = native.kernel "convolution"(%w, %x, %y) : (tensor<8x6x3x3xf32>, tensor<1x2x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x8x5x5xf32> {
// CHECK-NEXT:    ^bb0(%w_1: tensor<8x6x3x3xf32>, %x_1: tensor<1x2x5x5xf32>, %y_1: tensor<1x4x5x5xf32>):
// CHECK-NEXT:      %[[IMAGE:.*]] = native.kernel "move"(%x_1, %y_1)
// CHECK:             edge.cat
// CHECK:           %[[RESULT:.*]] = edge.convolution %[[IMAGE]], %w_1
// CHECK-NEXT:      edge.relu %[[RESULT]]
program.parameter @w : tensor<8x6x3x3xf32> = #program.data<f32, 432, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @joined(%x: tensor<1x2x5x5xf32>, %y: tensor<1x4x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %w = program.get @w : tensor<8x6x3x3xf32>
  %0 = edge.cat [%x, %y] {dim = 1} : (tensor<1x2x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x6x5x5xf32>
  %1 = edge.convolution %0, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x6x5x5xf32>, tensor<8x6x3x3xf32>) -> tensor<1x8x5x5xf32>
  %2 = edge.relu %1 : tensor<1x8x5x5xf32>
  func.return %2 : tensor<1x8x5x5xf32>
}

// -----

// An image that is added to the result too is an input once.
// CHECK-LABEL: func.func @added
// CHECK:         %0 = native.kernel "convolution"(%w, %x) : (tensor<3x6x3x3xf32>, tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32> {
// CHECK:           native.kernel "move"(%x_1) : (tensor<1x3x5x5xf32>) -> tensor<1x6x5x5xf32>
// CHECK:           edge.add.Tensor %{{.*}}, %x_1
program.parameter @w : tensor<3x6x3x3xf32> = #program.data<f32, 162, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @added(%x: tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32> {
  %w = program.get @w : tensor<3x6x3x3xf32>
  %0 = edge.cat [%x, %x] {dim = -3} : (tensor<1x3x5x5xf32>, tensor<1x3x5x5xf32>) -> tensor<1x6x5x5xf32>
  %1 = edge.convolution %0, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x6x5x5xf32>, tensor<3x6x3x3xf32>) -> tensor<1x3x5x5xf32>
  %2 = edge.add.Tensor %1, %x : (tensor<1x3x5x5xf32>, tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32>
  func.return %2 : tensor<1x3x5x5xf32>
}

// -----

// What something else reads too is in memory.
// CHECK-LABEL: func.func @read_twice
// CHECK:         %[[IMAGE:.*]] = native.kernel "move"(%x, %y)
// CHECK:         native.kernel "convolution"(%[[IMAGE]], %w)
program.parameter @w : tensor<8x6x3x3xf32> = #program.data<f32, 432, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @read_twice(%x: tensor<1x2x5x5xf32>, %y: tensor<1x4x5x5xf32>) -> (tensor<1x8x5x5xf32>, tensor<1x6x5x5xf32>) {
  %w = program.get @w : tensor<8x6x3x3xf32>
  %0 = edge.cat [%x, %y] {dim = 1} : (tensor<1x2x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x6x5x5xf32>
  %1 = edge.convolution %0, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x6x5x5xf32>, tensor<8x6x3x3xf32>) -> tensor<1x8x5x5xf32>
  func.return %1, %0 : tensor<1x8x5x5xf32>, tensor<1x6x5x5xf32>
}

// -----

// Without a border the image is read as it is.
// CHECK-LABEL: func.func @no_border
// CHECK:         %[[IMAGE:.*]] = native.kernel "move"(%x, %y)
// CHECK:         native.kernel "convolution"(%[[IMAGE]], %w)
program.parameter @w : tensor<8x6x3x3xf32> = #program.data<f32, 432, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @no_border(%x: tensor<1x2x5x5xf32>, %y: tensor<1x4x5x5xf32>) -> tensor<1x8x3x3xf32> {
  %w = program.get @w : tensor<8x6x3x3xf32>
  %0 = edge.cat [%x, %y] {dim = 1} : (tensor<1x2x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x6x5x5xf32>
  %1 = edge.convolution %0, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x6x5x5xf32>, tensor<8x6x3x3xf32>) -> tensor<1x8x3x3xf32>
  func.return %1 : tensor<1x8x3x3xf32>
}

// -----

// Only channels are joined where they are copied.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[IMAGE:.*]] = native.kernel "move"(%x, %y)
// CHECK:         native.kernel "convolution"(%[[IMAGE]], %w)
program.parameter @w : tensor<8x2x3x3xf32> = #program.data<f32, 144, "w", "0000000000000000000000000000000000000000000000000000000000000000">
func.func @rows(%x: tensor<1x2x2x5xf32>, %y: tensor<1x2x3x5xf32>) -> tensor<1x8x5x5xf32> {
  %w = program.get @w : tensor<8x2x3x3xf32>
  %0 = edge.cat [%x, %y] {dim = 2} : (tensor<1x2x2x5xf32>, tensor<1x2x3x5xf32>) -> tensor<1x2x5x5xf32>
  %1 = edge.convolution %0, %w {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x2x5x5xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x5x5xf32>
  func.return %1 : tensor<1x8x5x5xf32>
}
