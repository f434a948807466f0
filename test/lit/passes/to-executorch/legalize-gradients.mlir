// RUN: et-opt -p legalize --split-input-file %s | filecheck %s
// RUN: et-opt -p 'legalize{target="et-vm"}' --split-input-file %s | filecheck %s --check-prefix=VM

// A signal is an image of one row; a gradient that nobody asks for has no elements.
func.func @line(%g: tensor<4x6x3xf32>, %x: tensor<4x2x5xf32>, %w: tensor<6x2x3xf32>) -> (tensor<6x2x3xf32>, tensor<6xf32>) {
  // CHECK-LABEL: func.func @line
  // CHECK-NEXT:  %[[G:.*]] = edge.view_copy %g {size = [4, 6, 1, 3]}
  // CHECK-NEXT:  %[[X:.*]] = edge.view_copy %x {size = [4, 2, 1, 5]}
  // CHECK-NEXT:  %[[W:.*]] = edge.view_copy %w {size = [6, 2, 1, 3]}
  // CHECK-NEXT:  %{{.*}}, %[[GW:.*]], %[[GB:.*]] = edge.convolution_backward %[[G]], %[[X]], %[[W]] {bias_sizes = [6], stride = [1, 1], padding = [0, 0], {{.*}}output_mask = [false, true, true]} {{.*}} -> (tensor<0xf32>, tensor<6x2x1x3xf32>, tensor<6xf32>)
  // CHECK:       %[[R:.*]] = edge.view_copy %[[GW]] {size = [6, 2, 3]}
  // CHECK-NEXT:  func.return %[[R]], %[[GB]]
  // VM-LABEL:    func.func @line
  // VM-NEXT:     edge.convolution_backward %g, %x, %w
  %0, %1, %2 = edge.convolution_backward %g, %x, %w {bias_sizes = [6], stride = [1], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 1, output_mask = [false, true, true]} : (tensor<4x6x3xf32>, tensor<4x2x5xf32>, tensor<6x2x3xf32>) -> (tensor<0xf32>, tensor<6x2x3xf32>, tensor<6xf32>)
  func.return %1, %2 : tensor<6x2x3xf32>, tensor<6xf32>
}

// -----

// The weights' gradient is that of a convolution of the gradient.
func.func @transposed(%g: tensor<4x3x6x6xf32>, %x: tensor<4x4x3x3xf32>, %w: tensor<4x3x2x2xf32>) -> (tensor<4x4x3x3xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>) {
  // CHECK-LABEL: func.func @transposed
  // CHECK-NEXT:  %[[GX:.*]] = edge.convolution %g, %w {stride = [2, 2], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1}
  // CHECK-NEXT:  %{{.*}}, %[[GW:.*]], %{{.*}} = edge.convolution_backward %x, %g, %w {{.*}}transposed = false, {{.*}}output_mask = [false, true, false]}
  // CHECK-NEXT:  %[[GB:.*]] = edge.sum.dim_IntList %g {dim = [0, 2, 3]}
  // CHECK-NEXT:  func.return %[[GX]], %[[GW]], %[[GB]]
  %0, %1, %2 = edge.convolution_backward %g, %x, %w {bias_sizes = [3], stride = [2, 2], padding = [0, 0], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1, output_mask = [true, true, true]} : (tensor<4x3x6x6xf32>, tensor<4x4x3x3xf32>, tensor<4x3x2x2xf32>) -> (tensor<4x4x3x3xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>)
  func.return %0, %1, %2 : tensor<4x4x3x3xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>
}

// -----

// Elements go to all places of their windows; a row at the end is in none.
func.func @average(%g: tensor<2x3x2x2xf32>, %x: tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32> {
  // CHECK-LABEL: func.func @average
  // CHECK:       %[[ROWS:.*]] = edge.div.Tensor %g, %{{.*}} : (tensor<2x3x2x2xf32>, tensor<2x1xf32>)
  // CHECK:       %[[SHARES:.*]] = edge.div.Tensor %[[ROWS]], %{{.*}} : (tensor<2x3x2x2xf32>, tensor<1x2xf32>)
  // CHECK-NEXT:  %[[IMAGES:.*]] = edge.view_copy %[[SHARES]] {size = [6, 1, 2, 2]}
  // CHECK-NEXT:  %[[ONES:.*]] = edge.full {size = [1, 1, 2, 2], fill_value = 1.0
  // CHECK-NEXT:  %[[SPREAD:.*]] = edge.convolution %[[IMAGES]], %[[ONES]] {stride = [2, 2], {{.*}}transposed = true, output_padding = [1, 0], groups = 1}
  // CHECK-NEXT:  edge.view_copy %[[SPREAD]] {size = [2, 3, 5, 4]}
  %0 = edge.avg_pool2d_backward %g, %x {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], ceil_mode = false, count_include_pad = true} : (tensor<2x3x2x2xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  func.return %0 : tensor<2x3x5x4xf32>
}

// -----

// The kernel takes images; windows that stand out, with ceil_mode, have no such form.
func.func @stays(%g: tensor<4x6x3x3xf32>, %x: tensor<4x2x5x5xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<6x2x3x3xf32> {
  // CHECK-LABEL: func.func @stays
  // CHECK-NEXT:  edge.convolution_backward %g, %x, %w
  // CHECK-NEXT:  func.return
  %0, %1, %2 = edge.convolution_backward %g, %x, %w {bias_sizes = [6], stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1, output_mask = [true, true, true]} : (tensor<4x6x3x3xf32>, tensor<4x2x5x5xf32>, tensor<6x2x3x3xf32>) -> (tensor<4x2x5x5xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>)
  func.return %1 : tensor<6x2x3x3xf32>
}

// -----

func.func @standing_out(%g: tensor<1x1x3x3xf32>, %x: tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32> {
  // CHECK-LABEL: func.func @standing_out
  // CHECK-NEXT:  edge.avg_pool2d_backward %g, %x
  %0 = edge.avg_pool2d_backward %g, %x {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], ceil_mode = true, count_include_pad = true} : (tensor<1x1x3x3xf32>, tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  func.return %0 : tensor<1x1x5x5xf32>
}
