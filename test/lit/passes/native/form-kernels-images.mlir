// RUN: et-opt -p form-kernels,assign-layouts %s | filecheck %s

// A resize is computed with the pointwise ops that alone read it, and channels are innermost also without a batch.

// CHECK-LABEL: func.func @resize
// CHECK: native.kernel "resample"({{.*}}) : ({{.*}}) -> tensor<1x4x6x8xf32, #edge.dim_order<0, 2, 3, 1>> {
// CHECK: edge.upsample_nearest2d.vec
// CHECK: edge.relu
func.func @resize(%x: tensor<1x4x3x4xf32>) -> tensor<1x4x6x8xf32> {
  %0 = edge.upsample_nearest2d.vec %x {scale_factors = [2.0, 2.0]} : (tensor<1x4x3x4xf32>) -> tensor<1x4x6x8xf32>
  %1 = edge.relu %0 : tensor<1x4x6x8xf32>
  func.return %1 : tensor<1x4x6x8xf32>
}

// CHECK-LABEL: func.func @unbatched
// CHECK: native.kernel "resample"({{.*}}) : ({{.*}}) -> tensor<4x5x6xf32, #edge.dim_order<1, 2, 0>> {
func.func @unbatched(%x: tensor<4x3x4xf32>) -> tensor<4x5x6xf32> {
  %0 = edge.reflection_pad2d %x {padding = [1, 1, 1, 1]} : (tensor<4x3x4xf32>) -> tensor<4x5x6xf32>
  func.return %0 : tensor<4x5x6xf32>
}

// Elements that move are in a kernel of their own.

// CHECK-LABEL: func.func @pad
// CHECK: native.kernel "pad"
// CHECK-NOT: edge.relu
// CHECK: native.yield
// CHECK: native.kernel "pointwise"
func.func @pad(%x: tensor<2x3xf32>) -> tensor<2x5xf32> {
  %0 = edge.constant_pad_nd %x {pad = [1, 1], value = 0.0} : (tensor<2x3xf32>) -> tensor<2x5xf32>
  %1 = edge.relu %0 : tensor<2x5xf32>
  func.return %1 : tensor<2x5xf32>
}
