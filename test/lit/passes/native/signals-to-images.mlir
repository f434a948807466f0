// RUN: et-opt -p signals-to-images,dce --split-input-file %s | filecheck %s

// A signal is an image of one row.
program.constant @w : tensor<4x2x3xf32> = #program.data<f32, 24, "w", "0000000000000000000000000000000000000000000000000000000000000000">

// CHECK:       program.constant @w_image : tensor<4x2x1x3xf32>
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:  %[[W:.*]] = program.get @w_image
// CHECK-NEXT:  %[[IMAGE:.*]] = edge.unsqueeze_copy %x {dim = 2} : (tensor<1x2x?xf32, #program.sizes<2*s0>>) -> tensor<1x2x1x?xf32, #program.sizes<2*s0>>
// CHECK-NEXT:  %[[Y:.*]] = edge.convolution %[[IMAGE]], %[[W]] {stride = [1, 2], padding = [0, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1}
// CHECK-NEXT:  %[[BACK:.*]] = edge.squeeze_copy.dims %[[Y]] {dim = [2]}
// CHECK-NEXT:  func.return %[[BACK]]
func.func @forward(%x: tensor<1x2x?xf32, #program.sizes<2*s0>>) -> tensor<1x4x?xf32, #program.sizes<s0>> {
  %w = program.get @w : tensor<4x2x3xf32>
  %0 = edge.convolution %x, %w, none {stride = [2], padding = [1], dilation = [1], transposed = false, output_padding = [0], groups = 1} : (tensor<1x2x?xf32, #program.sizes<2*s0>>, tensor<4x2x3xf32>) -> tensor<1x4x?xf32, #program.sizes<s0>>
  func.return %0 : tensor<1x4x?xf32, #program.sizes<s0>>
}

// -----

// Filters of groups.
program.constant @w : tensor<4x2x3xf32> = #program.data<f32, 24, "w", "0000000000000000000000000000000000000000000000000000000000000000">

// CHECK-LABEL: func.func @groups
// CHECK:       edge.convolution {{.*}} groups = 2} : (tensor<1x4x1x?xf32, #program.sizes<s0>>, tensor<4x2x1x3xf32>)
func.func @groups(%x: tensor<1x4x?xf32, #program.sizes<s0>>) -> tensor<1x4x?xf32, #program.sizes<s0 - 2>> {
  %w = program.get @w : tensor<4x2x3xf32>
  %0 = edge.convolution %x, %w, none {stride = [1], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 2} : (tensor<1x4x?xf32, #program.sizes<s0>>, tensor<4x2x3xf32>) -> tensor<1x4x?xf32, #program.sizes<s0 - 2>>
  func.return %0 : tensor<1x4x?xf32, #program.sizes<s0 - 2>>
}

// -----

// Known sizes and transposed convolutions have code of their own, or none.
program.constant @w : tensor<4x2x3xf32> = #program.data<f32, 24, "w", "0000000000000000000000000000000000000000000000000000000000000000">

// CHECK-LABEL: func.func @others
// CHECK-NOT:   unsqueeze
// CHECK:       func.return
func.func @others(%x: tensor<1x2x8xf32>, %y: tensor<1x4x?xf32, #program.sizes<s0>>) -> (tensor<1x4x6xf32>, tensor<1x2x?xf32, #program.sizes<s0 + 2>>) {
  %w = program.get @w : tensor<4x2x3xf32>
  %0 = edge.convolution %x, %w, none {stride = [1], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 1} : (tensor<1x2x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  %1 = edge.convolution %y, %w, none {stride = [1], padding = [0], dilation = [1], transposed = true, output_padding = [0], groups = 1} : (tensor<1x4x?xf32, #program.sizes<s0>>, tensor<4x2x3xf32>) -> tensor<1x2x?xf32, #program.sizes<s0 + 2>>
  func.return %0, %1 : tensor<1x4x6xf32>, tensor<1x2x?xf32, #program.sizes<s0 + 2>>
}
