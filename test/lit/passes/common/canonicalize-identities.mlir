// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @identities
func.func @identities(%x: tensor<4x6xf32>, %i: tensor<1x3x8x8xf32>) -> (tensor<4x6xf32>, tensor<1x3x8x8xf32>) {
  %0 = aten.constant_pad_nd %x {pad = [0, 0, 0, 0], value = 1.0} : tensor<4x6xf32>
  %1 = aten.repeat %0 {repeats = [1, 1]} : tensor<4x6xf32>
  %2 = aten.flip %1 {dims = [0]} : tensor<4x6xf32>
  %3 = aten.flip %2 {dims = [-2]} : tensor<4x6xf32>
  // CHECK-NEXT: aten.relu %x
  %4 = aten.relu %3 : tensor<4x6xf32>
  %5 = aten.upsample_nearest2d.vec %i {output_size = [8, 8]} : tensor<1x3x8x8xf32>
  %6 = aten.upsample_nearest2d.vec %5 {scale_factors = [1.1, 1.0]} : tensor<1x3x8x8xf32>
  %7 = aten.max_pool2d %6 {kernel_size = [1, 1], stride = [1, 1]} : tensor<1x3x8x8xf32>
  // CHECK-NEXT: %[[N:.*]] = aten.neg %i
  %8 = aten.neg %7 : tensor<1x3x8x8xf32>
  %9, %at = aten.max_pool2d_with_indices %8 {kernel_size = [1, 1]} : (tensor<1x3x8x8xf32>) -> (tensor<1x3x8x8xf32>, tensor<1x3x8x8xi64>)
  // CHECK-NEXT: func.return %{{.*}}, %[[N]]
  func.return %4, %9 : tensor<4x6xf32>, tensor<1x3x8x8xf32>
}

// -----

// Views and slices; flips of several dimensions.
program.constant @places : tensor<2xi64> = #program.data<i64, [1, 2]>
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4x1x6xf32>) -> (tensor<4x6xf32>, tensor<2x1x6xf32>, tensor<4x1x6xf32>, tensor<4x3x6xf32>) {
  // CHECK-NEXT: aten.view %x {size = [4, 6]}
  %0 = aten.amax %x {dim = [1]} : (tensor<4x1x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: aten.slice.Tensor %x {start = 1, end = 3}
  %p = program.get @places : tensor<2xi64>
  %1 = aten.index_select %x, %p {dim = 0} : (tensor<4x1x6xf32>, tensor<2xi64>) -> tensor<2x1x6xf32>
  // CHECK-NEXT: aten.flip %x {dims = [0]}
  %2 = aten.flip %x {dims = [0, 2]} : tensor<4x1x6xf32>
  %3 = aten.flip %2 {dims = [-1]} : tensor<4x1x6xf32>
  // CHECK-NEXT: aten.expand %x {size = [4, 3, 6]}
  %4 = aten.repeat %x {repeats = [1, 3, 1]} : (tensor<4x1x6xf32>) -> tensor<4x3x6xf32>
  func.return %0, %1, %3, %4 : tensor<4x6xf32>, tensor<2x1x6xf32>, tensor<4x1x6xf32>, tensor<4x3x6xf32>
}

// -----

// A sum of one element makes +0.0 of -0.0; a factor that gives the same size, of exactly nearest places; strides, indices that are
// used; indices with a step; elements that are repeated; what is padded.
program.constant @odd : tensor<2xi64> = #program.data<i64, [1, 3]>
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4x1xf32>, %i: tensor<1x3x8x8xf32>) -> (tensor<4xf32>, tensor<1x3x8x8xf32>, tensor<1x3x4x4xf32>, tensor<1x3x8x8xi64>, tensor<2x1xf32>, tensor<8x1xf32>, tensor<4x1xf32>) {
  %odd = program.get @odd : tensor<2xi64>
  // CHECK: aten.sum.dim_IntList
  %0 = aten.sum.dim_IntList %x {dim = [1]} : (tensor<4x1xf32>) -> tensor<4xf32>
  // CHECK-NEXT: aten._upsample_nearest_exact2d.vec
  %1 = aten._upsample_nearest_exact2d.vec %i {scale_factors = [1.1, 1.1]} : tensor<1x3x8x8xf32>
  // CHECK-NEXT: aten.max_pool2d
  %2 = aten.max_pool2d %i {kernel_size = [1, 1], stride = [2, 2]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  // CHECK-NEXT: aten.neg
  // CHECK-NEXT: aten.max_pool2d_with_indices
  %n = aten.neg %i : tensor<1x3x8x8xf32>
  %3, %4 = aten.max_pool2d_with_indices %n {kernel_size = [1, 1]} : (tensor<1x3x8x8xf32>) -> (tensor<1x3x8x8xf32>, tensor<1x3x8x8xi64>)
  // CHECK-NEXT: aten.index_select
  %5 = aten.index_select %x, %odd {dim = 0} : (tensor<4x1xf32>, tensor<2xi64>) -> tensor<2x1xf32>
  // CHECK-NEXT: aten.repeat
  %6 = aten.repeat %x {repeats = [2, 1]} : (tensor<4x1xf32>) -> tensor<8x1xf32>
  // CHECK-NEXT: aten.constant_pad_nd
  %7 = aten.constant_pad_nd %x {pad = [1, -1]} : tensor<4x1xf32>
  func.return %0, %1, %2, %4, %5, %6, %7 : tensor<4xf32>, tensor<1x3x8x8xf32>, tensor<1x3x4x4xf32>, tensor<1x3x8x8xi64>, tensor<2x1xf32>, tensor<8x1xf32>, tensor<4x1xf32>
}

// -----

// A tensor of rank 0 has no dimension to flip.
// CHECK-LABEL: func.func @flip_of_rank_zero
// CHECK-NEXT:    %[[N:.*]] = aten.neg %x
// CHECK-NEXT:    func.return %[[N]]
func.func @flip_of_rank_zero(%x: tensor<f32>) -> tensor<f32> {
  %0 = aten.neg %x : tensor<f32>
  %1 = aten.flip %0 {dims = [0]} : tensor<f32>
  %2 = aten.flip %1 {dims = [-1]} : tensor<f32>
  func.return %2 : tensor<f32>
}

// -----

// Factors that torch goes by, though the size is kept: of signals, of large images and of volumes.
// CHECK-LABEL: func.func @factors
func.func @factors(%x: tensor<1x3x8xf32>, %i: tensor<1x3x128x8xf32>, %v: tensor<1x3x2x2x8xf32>) -> (tensor<1x3x8xf32>, tensor<1x3x128x8xf32>, tensor<1x3x2x2x8xf32>) {
  // CHECK-NEXT: aten.upsample_nearest1d.vec
  %0 = aten.upsample_nearest1d.vec %x {scale_factors = [1.1]} : tensor<1x3x8xf32>
  // CHECK-NEXT: aten.upsample_nearest2d.vec
  %1 = aten.upsample_nearest2d.vec %i {scale_factors = [1.0, 1.1]} : tensor<1x3x128x8xf32>
  // CHECK-NEXT: aten.upsample_nearest3d.vec
  %2 = aten.upsample_nearest3d.vec %v {scale_factors = [1.0, 1.0, 1.1]} : tensor<1x3x2x2x8xf32>
  func.return %0, %1, %2 : tensor<1x3x8xf32>, tensor<1x3x128x8xf32>, tensor<1x3x2x2x8xf32>
}
