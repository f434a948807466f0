// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Lines are images of one row.

func.func @forward(%x: tensor<2x3x8xf32>) -> tensor<2x3x4xf32> {
  %0 = aten.max_pool1d %x {kernel_size = [3], stride = [2], padding = [1]} : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = -2}
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES:.*]], %[[MAX_POOL2D_WITH_INDICES2:.*]] = aten.max_pool2d_with_indices %[[UNSQUEEZE]] {kernel_size = [1, 3], stride = [1, 2], padding = [0, 1]}
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[MAX_POOL2D_WITH_INDICES]] {dim = [-2]}
// CHECK-NEXT: %{{.*}} = aten.squeeze.dims %[[MAX_POOL2D_WITH_INDICES2]] {dim = [-2]}
// CHECK-NEXT: func.return %[[SQUEEZE]]

// -----

func.func @forward(%x: tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>) {
  %0, %1 = aten.max_pool1d_with_indices %x {kernel_size = [2]} : (tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
  func.return %0, %1 : tensor<3x4xf32>, tensor<3x4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = -2}
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES:.*]], %[[MAX_POOL2D_WITH_INDICES2:.*]] = aten.max_pool2d_with_indices %[[UNSQUEEZE]] {kernel_size = [1, 2], stride = [1, 2]}
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[MAX_POOL2D_WITH_INDICES]] {dim = [-2]}
// CHECK-NEXT: %[[SQUEEZE2:.*]] = aten.squeeze.dims %[[MAX_POOL2D_WITH_INDICES2]] {dim = [-2]}
// CHECK-NEXT: func.return %[[SQUEEZE]], %[[SQUEEZE2]]

// -----

func.func @forward(%x: tensor<2x3x8xf32>) -> tensor<2x3x4xf32> {
  %0 = aten.adaptive_avg_pool1d %x {output_size = [4]} : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = -2}
// CHECK-NEXT: %[[AVG_POOL2D:.*]] = aten.avg_pool2d %[[UNSQUEEZE]] {kernel_size = [1, 2], stride = [1, 2]}
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[AVG_POOL2D]] {dim = [-2]}
// CHECK-NEXT: func.return %[[SQUEEZE]]

// -----

func.func @forward(%x: tensor<1x2x3xf32>) -> tensor<1x2x7xf32> {
  %0 = aten.upsample_nearest1d.vec %x {scale_factors = [2.5]} : (tensor<1x2x3xf32>) -> tensor<1x2x7xf32>
  func.return %0 : tensor<1x2x7xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = -2}
// CHECK-NEXT: %[[UPSAMPLE_NEAREST2D:.*]] = aten.upsample_nearest2d.vec %[[UNSQUEEZE]] {scale_factors = [1.0, 2.5]}
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[UPSAMPLE_NEAREST2D]] {dim = [-2]}
// CHECK-NEXT: func.return %[[SQUEEZE]]

// -----

// Torch goes by the factor of a signal whose size it keeps, and by the sizes of an image.
func.func @forward(%x: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
  %0 = aten.upsample_nearest1d.vec %x {scale_factors = [1.3]} : tensor<1x2x3xf32>
  func.return %0 : tensor<1x2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.upsample_nearest1d.vec %x {scale_factors = [1.3]}

// -----

// Scales that are given stay with the operator that takes them.
func.func @forward(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x6x7xf32> {
  %0 = aten.upsample_nearest2d %x {output_size = [6, 7], scales_h = 2.0, scales_w = 1.75} : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x7xf32>
  func.return %0 : tensor<1x2x6x7xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UPSAMPLE_NEAREST2D:.*]] = aten.upsample_nearest2d %x {output_size = [6, 7], scales_h = 2.0, scales_w = 1.75}
// CHECK-NEXT: func.return %[[UPSAMPLE_NEAREST2D]]

// -----

func.func @forward(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x6x7xf32>, tensor<1x2x6x7xf32>) {
  %0 = aten.upsample_nearest2d %x {output_size = [6, 7]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x7xf32>
  %1 = aten.upsample_bilinear2d %x {output_size = [6, 7], align_corners = true} : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x7xf32>
  func.return %0, %1 : tensor<1x2x6x7xf32>, tensor<1x2x6x7xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UPSAMPLE_NEAREST2D:.*]] = aten.upsample_nearest2d.vec %x {output_size = [6, 7]}
// CHECK-NEXT: %[[UPSAMPLE_BILINEAR2D:.*]] = aten.upsample_bilinear2d.vec %x {output_size = [6, 7], align_corners = true}
// CHECK-NEXT: func.return %[[UPSAMPLE_NEAREST2D]], %[[UPSAMPLE_BILINEAR2D]]

// -----

func.func @forward(%x: tensor<2x3x8x6xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x3x4x2xi64>) {
  %0, %1 = aten.adaptive_max_pool2d %x {output_size = [4, 2]} : (tensor<2x3x8x6xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x3x4x2xi64>)
  func.return %0, %1 : tensor<2x3x4x2xf32>, tensor<2x3x4x2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES:.*]], %[[MAX_POOL2D_WITH_INDICES2:.*]] = aten.max_pool2d_with_indices %x {kernel_size = [2, 3], stride = [2, 3]}
// CHECK-NEXT: func.return %[[MAX_POOL2D_WITH_INDICES]], %[[MAX_POOL2D_WITH_INDICES2]]

// -----

func.func @forward(%x: tensor<1x2x3x4xf32>, %grid: tensor<1x5x6x2xf32>) -> tensor<1x2x5x6xf32> {
  %0 = aten.grid_sampler %x, %grid {interpolation_mode = 0, padding_mode = 1, align_corners = true} : (tensor<1x2x3x4xf32>, tensor<1x5x6x2xf32>) -> tensor<1x2x5x6xf32>
  func.return %0 : tensor<1x2x5x6xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[GRID_SAMPLER_2D:.*]] = aten.grid_sampler_2d %x, %grid {interpolation_mode = 0, padding_mode = 1, align_corners = true}
// CHECK-NEXT: func.return %[[GRID_SAMPLER_2D]]
