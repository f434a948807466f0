// RUN: et-opt -p legalize,cse,dce --split-input-file %s | filecheck %s

// Blocks that overlap are added to zeros, and the border is cut off.
func.func @overlapping(%x: tensor<1x18x36xf32>) -> tensor<1x2x6x6xf32> {
  %0 = edge.col2im %x {output_size = [6, 6], kernel_size = [3, 3], dilation = [1, 1], padding = [1, 1], stride = [1, 1]} : (tensor<1x18x36xf32>) -> tensor<1x2x6x6xf32>
  func.return %0 : tensor<1x2x6x6xf32>
}
// CHECK:      func.func @overlapping
// CHECK-NEXT: %[[PARTS:.*]] = edge.view_copy %x {size = [1, 2, 3, 3, 6, 6]}
// CHECK-NEXT: %[[ROWS:.*]] = edge.permute_copy %[[PARTS]] {dims = [0, 1, 2, 4, 3, 5]}
// CHECK:      %[[BLANK:.*]] = edge.full {size = [1, 2, 8, 8], fill_value = 0
// CHECK-NEXT: %[[SUM:.*]] = edge.index_put %[[BLANK]], [none, none, %{{.*}}, %{{.*}}], %[[ROWS]] {accumulate = true}
// CHECK-NEXT: %[[SHORT:.*]] = edge.slice_copy.Tensor %[[SUM]] {dim = 2, start = 1, end = 7}
// CHECK-NEXT: %[[NARROW:.*]] = edge.slice_copy.Tensor %[[SHORT]] {dim = 3, start = 1, end = 7}
// CHECK-NEXT: func.return %[[NARROW]]

// -----

// Blocks side by side are moved.
func.func @patches(%x: tensor<12x6xf32>) -> tensor<3x4x6xf32> {
  %0 = edge.col2im %x {output_size = [4, 6], kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [2, 2]} : (tensor<12x6xf32>) -> tensor<3x4x6xf32>
  func.return %0 : tensor<3x4x6xf32>
}
// CHECK:      func.func @patches
// CHECK-NEXT: edge.view_copy
// CHECK-NEXT: edge.permute_copy
// CHECK-NEXT: edge.permute_copy
// CHECK-NEXT: %[[IMAGE:.*]] = edge.view_copy %{{.*}} {size = [3, 4, 6]}
// CHECK-NEXT: func.return %[[IMAGE]]
