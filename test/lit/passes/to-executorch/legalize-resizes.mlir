// RUN: et-opt -p legalize --split-input-file %s | filecheck %s

// A width that is kept and a height that is doubled: torch goes by the sizes, stock's kernel by the factors.
// CHECK-LABEL: func.func @resizes
func.func @resizes(%x: tensor<1x2x5x6xf32>) -> (tensor<1x2x10x6xf32>, tensor<1x2x10x6xf32>, tensor<1x2x7x6xf32>) {
  // CHECK-NEXT: edge.upsample_nearest2d.vec %x {scale_factors = [2.0, 1.0]}
  %0 = edge.upsample_nearest2d.vec %x {scale_factors = [2.1, 1.1]} : (tensor<1x2x5x6xf32>) -> tensor<1x2x10x6xf32>
  // CHECK-NEXT: edge._upsample_bilinear2d_aa %x {output_size = [10, 6], align_corners = false, scales_h = 2.1, scales_w = 1.0}
  %1 = edge._upsample_bilinear2d_aa %x {output_size = [10, 6], align_corners = false, scales_h = 2.1, scales_w = 1.1} : (tensor<1x2x5x6xf32>) -> tensor<1x2x10x6xf32>
  // CHECK-NEXT: edge.upsample_nearest2d %x {output_size = [7, 6], scales_h = 1.5, scales_w = 1.0}
  %2 = edge.upsample_nearest2d %x {output_size = [7, 6], scales_h = 1.5, scales_w = 1.1} : (tensor<1x2x5x6xf32>) -> tensor<1x2x7x6xf32>
  func.return %0, %1, %2 : tensor<1x2x10x6xf32>, tensor<1x2x10x6xf32>, tensor<1x2x7x6xf32>
}

// -----

// Other factors stay, and so do those of large images, where torch goes by the factors.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<1x2x5x6xf32>, %y: tensor<1x2x5x128xf32>) -> (tensor<1x2x7x9xf32>, tensor<1x2x5x128xf32>) {
  // CHECK-NEXT: edge.upsample_nearest2d.vec %x {scale_factors = [1.5, 1.5]}
  %0 = edge.upsample_nearest2d.vec %x {scale_factors = [1.5, 1.5]} : (tensor<1x2x5x6xf32>) -> tensor<1x2x7x9xf32>
  // CHECK-NEXT: edge.upsample_nearest2d.vec %y {scale_factors = [1.1, 1.001]}
  %1 = edge.upsample_nearest2d.vec %y {scale_factors = [1.1, 1.001]} : tensor<1x2x5x128xf32>
  func.return %0, %1 : tensor<1x2x7x9xf32>, tensor<1x2x5x128xf32>
}
