// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// A convolution of any rank is `convolution`.
func.func @forward(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = aten.conv2d %x, %w, %b {stride = [2, 2], padding = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  func.return %0 : tensor<1x4x4x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONVOLUTION:.*]] = aten.convolution %x, %w, %b {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
// CHECK-NEXT: func.return %[[CONVOLUTION]]

// -----

// Without a batch dimension it is given one.
func.func @forward(%x: tensor<3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<4x6xf32> {
  %0 = aten.conv1d %x, %w : (tensor<3x8xf32>, tensor<4x3x3xf32>) -> tensor<4x6xf32>
  func.return %0 : tensor<4x6xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = 0} : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-NEXT: %[[CONVOLUTION:.*]] = aten.convolution %[[UNSQUEEZE]], %w {stride = [1], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 1} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[CONVOLUTION]] {dim = [0]} : (tensor<1x4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %[[SQUEEZE]]

// -----

// Padding that keeps the size pads the end more, where it cannot be the same on both sides.
func.func @forward(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<1x4x8x8xf32> {
  %0 = aten.conv2d.padding %x, %w {padding = "same"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x2xf32>) -> tensor<1x4x8x8xf32>
  func.return %0 : tensor<1x4x8x8xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = aten.constant_pad_nd %x {pad = [0, 1, 0, 0]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x9xf32>
// CHECK-NEXT: %[[CONVOLUTION:.*]] = aten.convolution %[[CONSTANT_PAD_ND]], %w {stride = [1, 1], padding = [1, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x9xf32>, tensor<4x3x3x2xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT: func.return %[[CONVOLUTION]]

// -----

func.func @forward(%x: tensor<1x4x5x5xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x10x10xf32> {
  %0 = aten.conv_transpose2d.input %x, %w {stride = [2, 2], padding = [1, 1], output_padding = [1, 1], groups = 2} : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x10x10xf32>
  func.return %0 : tensor<1x4x10x10xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONVOLUTION:.*]] = aten.convolution %x, %w {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = true, output_padding = [1, 1], groups = 2} : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x10x10xf32>
// CHECK-NEXT: func.return %[[CONVOLUTION]]

// -----

// Torch convolves complex numbers part by part: left to its own decomposition.
func.func @forward(%x: tensor<1x3x8xcomplex<f32>>, %w: tensor<4x3x3xcomplex<f32>>) -> tensor<1x4x6xcomplex<f32>> {
  %0 = aten.conv1d %x, %w : (tensor<1x3x8xcomplex<f32>>, tensor<4x3x3xcomplex<f32>>) -> tensor<1x4x6xcomplex<f32>>
  func.return %0 : tensor<1x4x6xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONV1D:.*]] = aten.conv1d %x, %w : (tensor<1x3x8xcomplex<f32>>, tensor<4x3x3xcomplex<f32>>) -> tensor<1x4x6xcomplex<f32>>
// CHECK-NEXT: func.return %[[CONV1D]]

// -----

func.func @forward(%x: tensor<1x2x5x5x5xf32>, %weight: tensor<2x1x3x3x3xf32>, %bias: tensor<2xf32>) -> tensor<1x2x5x5x5xf32> {
  %0 = aten.conv3d %x, %weight, %bias {padding = [1, 1, 1], groups = 2} : (tensor<1x2x5x5x5xf32>, tensor<2x1x3x3x3xf32>, tensor<2xf32>) -> tensor<1x2x5x5x5xf32>
  func.return %0 : tensor<1x2x5x5x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONVOLUTION:.*]] = aten.convolution %x, %weight, %bias {stride = [1, 1, 1], padding = [1, 1, 1], dilation = [1, 1, 1], transposed = false, output_padding = [0, 0, 0], groups = 2}
// CHECK-NEXT: func.return %[[CONVOLUTION]]

// -----

// Half of what keeps the size on each side.
func.func @forward(%x: tensor<2x4x9xf32>, %weight: tensor<6x4x3xf32>, %y: tensor<1x2x5x5x5xf32>, %weight2: tensor<2x2x3x3x3xf32>, %bias: tensor<2xf32>) -> (tensor<2x6x9xf32>, tensor<1x2x5x5x5xf32>) {
  %0 = aten.conv1d.padding %x, %weight {padding = "same"} : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x9xf32>
  %1 = aten.conv3d.padding %y, %weight2, %bias {padding = "same"} : (tensor<1x2x5x5x5xf32>, tensor<2x2x3x3x3xf32>, tensor<2xf32>) -> tensor<1x2x5x5x5xf32>
  func.return %0, %1 : tensor<2x6x9xf32>, tensor<1x2x5x5x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONVOLUTION:.*]] = aten.convolution %x, %weight {stride = [1], padding = [1], dilation = [1], transposed = false, output_padding = [0], groups = 1}
// CHECK-NEXT: %[[CONVOLUTION2:.*]] = aten.convolution %y, %weight2, %bias {stride = [1, 1, 1], padding = [1, 1, 1], dilation = [1, 1, 1], transposed = false, output_padding = [0, 0, 0], groups = 1}
// CHECK-NEXT: func.return %[[CONVOLUTION]], %[[CONVOLUTION2]]

// -----

func.func @forward(%x: tensor<2x4x9xf32>, %weight: tensor<4x2x3xf32>, %bias: tensor<2xf32>, %y: tensor<1x2x3x3x3xf32>, %weight2: tensor<2x2x3x3x3xf32>) -> (tensor<2x2x18xf32>, tensor<1x2x5x5x5xf32>) {
  %0 = aten.conv_transpose1d %x, %weight, %bias {stride = [2], padding = [1], output_padding = [1]} : (tensor<2x4x9xf32>, tensor<4x2x3xf32>, tensor<2xf32>) -> tensor<2x2x18xf32>
  %1 = aten.conv_transpose3d.input %y, %weight2 : (tensor<1x2x3x3x3xf32>, tensor<2x2x3x3x3xf32>) -> tensor<1x2x5x5x5xf32>
  func.return %0, %1 : tensor<2x2x18xf32>, tensor<1x2x5x5x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONVOLUTION:.*]] = aten.convolution %x, %weight, %bias {stride = [2], padding = [1], dilation = [1], transposed = true, output_padding = [1], groups = 1}
// CHECK-NEXT: %[[CONVOLUTION2:.*]] = aten.convolution %y, %weight2 {stride = [1, 1, 1], padding = [0, 0, 0], dilation = [1, 1, 1], transposed = true, output_padding = [0, 0, 0], groups = 1}
// CHECK-NEXT: func.return %[[CONVOLUTION]], %[[CONVOLUTION2]]
