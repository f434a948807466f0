// RUN: et-opt -p 'pools-to-maxima{memory=any}' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'pools-to-maxima{memory=any workspace=100000}' --split-input-file %s | filecheck %s --check-prefix=TILES
// RUN: et-opt -p pools-to-maxima --split-input-file %s | filecheck %s --check-prefix=SPACE

// The first rows, their maximum with the second, then columns. No channel fits below what is needed anyway.
// CHECK-LABEL: func.func @pool
// TILES-LABEL: func.func @pool
// SPACE-LABEL: func.func @pool
func.func @pool(%x: tensor<1x64x14x14xf32>) -> tensor<1x64x8x8xf32> {
  // CHECK-NEXT: %[[X:.*]] = edge.view_copy %x {size = [64, 14, 14]}
  // CHECK-NEXT: %[[P:.*]] = edge.constant_pad_nd %[[X]] {pad = [1, 1, 1, 1], value = -inf} : (tensor<64x14x14xf32>) -> tensor<64x16x16xf32>
  // CHECK-NEXT: %[[A:.*]] = edge.as_strided_copy %[[P]] {size = [64, 8, 16], stride = [256, 32, 1], storage_offset = 0}
  // CHECK-NEXT: %[[B:.*]] = edge.as_strided_copy %[[P]] {size = [64, 8, 16], stride = [256, 32, 1], storage_offset = 16}
  // CHECK-NEXT: %[[R:.*]] = edge.maximum %[[A]], %[[B]]
  // CHECK-NEXT: %[[C:.*]] = edge.as_strided_copy %[[R]] {size = [64, 8, 8], stride = [128, 16, 2], storage_offset = 0}
  // CHECK-NEXT: %[[D:.*]] = edge.as_strided_copy %[[R]] {size = [64, 8, 8], stride = [128, 16, 2], storage_offset = 1}
  // CHECK-NEXT: %[[M:.*]] = edge.maximum %[[C]], %[[D]]
  // CHECK-NEXT: edge.view_copy %[[M]] {size = [1, 64, 8, 8]}
  // TILES:     edge.slice_copy.Tensor %{{.*}} {start = 0, end = 35} : (tensor<64x14x14xf32>) -> tensor<35x14x14xf32>
  // TILES:     edge.slice_copy.Tensor %{{.*}} {start = 35, end = 64}
  // TILES:     edge.cat [{{.*}}] : (tensor<35x8x8xf32>, tensor<29x8x8xf32>) -> tensor<64x8x8xf32>
  // SPACE:       edge.max_pool2d_with_indices
  %0, %1 = edge.max_pool2d_with_indices %x {kernel_size = [2, 2], stride = [2, 2], padding = [1, 1]} : (tensor<1x64x14x14xf32>) -> (tensor<1x64x8x8xf32>, tensor<1x64x8x8xi64>)
  func.return %0 : tensor<1x64x8x8xf32>
}

// -----

// Indices that are needed, integers, unknown sizes, windows that reach past the padding.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-4: edge.max_pool2d_with_indices
func.func @stays(%x: tensor<1x4x16x16xf32>, %n: tensor<1x4x16x16xi32>, %u: tensor<?x4x16x16xf32>) -> tensor<1x4x8x8xi64> {
  %0, %1 = edge.max_pool2d_with_indices %x {kernel_size = [2, 2]} : (tensor<1x4x16x16xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xi64>)
  %2, %3 = edge.max_pool2d_with_indices %n {kernel_size = [2, 2]} : (tensor<1x4x16x16xi32>) -> (tensor<1x4x8x8xi32>, tensor<1x4x8x8xi64>)
  %4, %5 = edge.max_pool2d_with_indices %u {kernel_size = [2, 2]} : (tensor<?x4x16x16xf32>) -> (tensor<?x4x8x8xf32>, tensor<?x4x8x8xi64>)
  %6, %7 = edge.max_pool2d_with_indices %x {kernel_size = [3, 3], stride = [2, 2], ceil_mode = true} : (tensor<1x4x16x16xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xi64>)
  func.return %1 : tensor<1x4x8x8xi64>
}
