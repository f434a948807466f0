// RUN: et-opt -p fold-scales,dce --split-input-file %s | filecheck %s

// One number for each channel, then one for all.
program.parameter @w : tensor<2x1x1x1xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @b : tensor<2xf32> = #program.data<f32, [1.0, -1.0]>
program.constant @s : tensor<2x1x1xf32> = #program.data<f32, [3.0, 4.0]>
program.constant @t : tensor<1x2x1x1xf32> = #program.data<f32, [0.5, -0.5]>
// CHECK: @w_scaled_{{[0-9]}} : tensor<2x1x1x1xf32> = #program.data<f32, [1.5, 4.0]>
// CHECK: @b_scaled_{{[0-9]}} : tensor<2xf32> = #program.data<f32, [-0.25, -4.25]>
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = program.get @w : tensor<2x1x1x1xf32>
  %b = program.get @b : tensor<2xf32>
  %s = program.get @s : tensor<2x1x1xf32>
  %t = program.get @t : tensor<1x2x1x1xf32>
  // CHECK: %[[Y:.*]] = aten.convolution %x, %{{.*}}, %{{.*}} {
  // CHECK-NEXT: func.return %[[Y]]
  %0 = aten.convolution %x, %w, %b {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %1 = aten.mul.Tensor %s, %0 : (tensor<2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = aten.add.Tensor %1, %t : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = aten.sub.Scalar %2 {other = 4} : tensor<1x2x4x4xf32>
  %4 = aten.div.Scalar %3 {other = 2.0} : tensor<1x2x4x4xf32>
  func.return %4 : tensor<1x2x4x4xf32>
}

// -----

// Matrix products: one has a bias and keeps one, the other has none and gets none.
program.parameter @w : tensor<1x2xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @v : tensor<2x1xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @b : tensor<2xf32> = #program.data<f32, [1.0, -1.0]>
program.constant @t : tensor<2xf32> = #program.data<f32, [0.5, -0.5]>
// CHECK: @t : tensor<2xf32>
// CHECK: @w_scaled : tensor<1x2xf32> = #program.data<f32, [2.0, 4.0]>
// CHECK: @v_scaled : tensor<2x1xf32> = #program.data<f32, [0.5, -1.0]>
// CHECK: @b_scaled : tensor<2xf32> = #program.data<f32, [0.5, 0.5]>
// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<3x1xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = program.get @w : tensor<1x2xf32>
  %v = program.get @v : tensor<2x1xf32>
  %b = program.get @b : tensor<2xf32>
  %t = program.get @t : tensor<2xf32>
  %two = program.literal 2 : i64
  // CHECK: %[[M:.*]] = aten.mm %x, %{{.*}} :
  // CHECK-NEXT: aten.add.Tensor %[[M]], %t
  %0 = aten.mm %x, %w : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %1 = aten.mul.Tensor %0, %two : (tensor<3x2xf32>, i64) -> tensor<3x2xf32>
  %2 = aten.add.Tensor %1, %t : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  // CHECK: %[[A:.*]] = aten.addmm
  // CHECK-NEXT: func.return %{{.*}}, %[[A]]
  %turned = aten.permute %v {dims = [1, 0]} : (tensor<2x1xf32>) -> tensor<1x2xf32>
  %3 = aten.addmm %b, %x, %turned : (tensor<2xf32>, tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %4 = aten.mul.Tensor %3, %t : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %2, %4 : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// Several users, numbers for each element, a weight that others use, no numbers, another type, an image without a batch.
program.parameter @w : tensor<2x1x1x1xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @v : tensor<2x1x1x1xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @u : tensor<2x1x1x1xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @h : tensor<2x1x1x1xf16> = #program.data<f16, [1.0, 2.0]>
program.constant @rows : tensor<4x1xf32> = #program.data<f32, [0.5, -0.5, 1.0, 2.0]>
program.constant @zero : tensor<f32> = #program.data<f32, [0.0]>
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<1x1x4x4xf32>, %i: tensor<1x4x4xf32>, %f: tensor<1x1x4x4xf16>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<2x4x4xf32>, tensor<1x2x4x4xf16>) {
  %w = program.get @w : tensor<2x1x1x1xf32>
  %v = program.get @v : tensor<2x1x1x1xf32>
  %u = program.get @u : tensor<2x1x1x1xf32>
  %h = program.get @h : tensor<2x1x1x1xf16>
  %rows = program.get @rows : tensor<4x1xf32>
  %zero = program.get @zero : tensor<f32>
  %0 = aten.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: aten.mul.Scalar
  %1 = aten.mul.Scalar %0 {other = 2.0} : tensor<1x2x4x4xf32>
  %2 = aten.conv2d %x, %v : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: aten.mul.Tensor
  %3 = aten.mul.Tensor %2, %rows : (tensor<1x2x4x4xf32>, tensor<4x1xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: aten.div.Tensor
  %4 = aten.div.Tensor %3, %zero : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %5 = aten.conv2d %i, %u : (tensor<1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<2x4x4xf32>
  // CHECK: aten.mul.Scalar
  %6 = aten.mul.Scalar %5 {other = 2.0} : tensor<2x4x4xf32>
  %7 = aten.conv2d %f, %h : (tensor<1x1x4x4xf16>, tensor<2x1x1x1xf16>) -> tensor<1x2x4x4xf16>
  // CHECK: aten.mul.Scalar
  %8 = aten.mul.Scalar %7 {other = 2.0} : tensor<1x2x4x4xf16>
  func.return %0, %1, %4, %6, %8 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<2x4x4xf32>, tensor<1x2x4x4xf16>
}

// -----

program.parameter @w : tensor<2x1x1x1xf32> = #program.data<f32, [1.0, 2.0]>
// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = program.get @w : tensor<2x1x1x1xf32>
  %0 = aten.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: aten.mul.Scalar
  %1 = aten.mul.Scalar %0 {other = 2.0} : tensor<1x2x4x4xf32>
  %2 = aten.conv2d %1, %w {groups = 2} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %1, %2 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}
