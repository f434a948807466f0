// RUN: et-opt -p share-matrices --split-input-file %s | filecheck %s
// RUN: et-opt -p share-matrices,fuse-attention,form-kernels,assign-layouts --split-input-file %s \
// RUN:   | filecheck %s --check-prefix=KERNELS

// Keys and values of two groups, each read by four heads: as they are in the cache, and not copied for each head.
// CHECK-LABEL: func.func @grouped
// CHECK-NOT:     expand_copy
// CHECK:         %[[K:.*]] = edge.view_copy %k {size = [2, 64, 32]}
// CHECK-NEXT:    %[[T:.*]] = edge.permute_copy %[[K]] {dims = [0, 2, 1]}
// CHECK-NEXT:    %[[Q:.*]] = edge.view_copy %{{.*}} {size = [2, -1, 32]} : (tensor<1x8x1x32xf32>) -> tensor<2x4x32xf32>
// CHECK-NEXT:    %[[S:.*]] = edge.bmm %[[Q]], %[[T]]
// CHECK-NEXT:    edge.view_copy %[[S]] {size = [8, -1, 64]} : (tensor<2x4x64xf32>) -> tensor<8x1x64xf32>
// CHECK:         edge._softmax
// CHECK:         edge.bmm %{{.*}} : (tensor<2x4x64xf32>, tensor<2x64x32xf32>) -> tensor<2x4x32xf32>
// KERNELS-LABEL: func.func @grouped
// KERNELS-NOT:     native.kernel "transpose"
// KERNELS:         native.kernel "attention"
// KERNELS-NOT:     native.kernel "transpose"
func.func @grouped(%q: tensor<1x8x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: tensor<1x2x64x32xf32>, %m: tensor<1x1x1x64xf32>) -> tensor<1x8x1x32xf32> {
  %0 = edge.view_copy %k {size = [1, 2, 1, 64, 32]} : (tensor<1x2x64x32xf32>) -> tensor<1x2x1x64x32xf32>
  %1 = edge.expand_copy %0 {size = [1, 2, 4, 64, 32]} : (tensor<1x2x1x64x32xf32>) -> tensor<1x2x4x64x32xf32>
  %2 = edge.view_copy %1 {size = [1, 8, 64, 32]} : (tensor<1x2x4x64x32xf32>) -> tensor<1x8x64x32xf32>
  %3 = edge.permute_copy %2 {dims = [0, 1, 3, 2]} : (tensor<1x8x64x32xf32>) -> tensor<1x8x32x64xf32>
  %4 = edge.view_copy %3 {size = [8, 32, 64]} : (tensor<1x8x32x64xf32>) -> tensor<8x32x64xf32>
  %5 = edge.view_copy %q {size = [8, 1, 32]} : (tensor<1x8x1x32xf32>) -> tensor<8x1x32xf32>
  %6 = edge.bmm %5, %4 : (tensor<8x1x32xf32>, tensor<8x32x64xf32>) -> tensor<8x1x64xf32>
  %7 = edge.view_copy %6 {size = [1, 8, 1, 64]} : (tensor<8x1x64xf32>) -> tensor<1x8x1x64xf32>
  %8 = edge.add.Tensor %7, %m : (tensor<1x8x1x64xf32>, tensor<1x1x1x64xf32>) -> tensor<1x8x1x64xf32>
  %9 = edge._softmax %8 {dim = -1, half_to_float = false} : tensor<1x8x1x64xf32>
  %10 = edge.view_copy %9 {size = [8, 1, 64]} : (tensor<1x8x1x64xf32>) -> tensor<8x1x64xf32>
  %11 = edge.view_copy %v {size = [1, 2, 1, 64, 32]} : (tensor<1x2x64x32xf32>) -> tensor<1x2x1x64x32xf32>
  %12 = edge.expand_copy %11 {size = [1, 2, 4, 64, 32]} : (tensor<1x2x1x64x32xf32>) -> tensor<1x2x4x64x32xf32>
  %13 = edge.view_copy %12 {size = [8, 64, 32]} : (tensor<1x2x4x64x32xf32>) -> tensor<8x64x32xf32>
  %14 = edge.bmm %10, %13 : (tensor<8x1x64xf32>, tensor<8x64x32xf32>) -> tensor<8x1x32xf32>
  %15 = edge.view_copy %14 {size = [1, 8, 1, 32]} : (tensor<8x1x32xf32>) -> tensor<1x8x1x32xf32>
  func.return %15 : tensor<1x8x1x32xf32>
}

// -----

// Of any number of rows.
// CHECK-LABEL: func.func @rows
// CHECK:         edge.bmm %{{.*}} : (tensor<2x?x32xf32, {{.*}}>, tensor<2x32x64xf32>) -> tensor<2x?x64xf32, {{.*}}>
func.func @rows(%q: tensor<8x?x32xf32, #program.sizes<s0>>, %k: tensor<2x1x32x64xf32>) -> tensor<8x?x64xf32, #program.sizes<s0>> attributes {program.ranges = #program.ranges<s0 from 1 to 16>} {
  %0 = edge.expand_copy %k {size = [2, 4, 32, 64]} : (tensor<2x1x32x64xf32>) -> tensor<2x4x32x64xf32>
  %1 = edge.view_copy %0 {size = [8, 32, 64]} : (tensor<2x4x32x64xf32>) -> tensor<8x32x64xf32>
  %2 = edge.bmm %q, %1 : (tensor<8x?x32xf32, #program.sizes<s0>>, tensor<8x32x64xf32>) -> tensor<8x?x64xf32, #program.sizes<s0>>
  func.return %2 : tensor<8x?x64xf32, #program.sizes<s0>>
}

// -----

// A batch that is repeated as a whole: matrices of neighbors differ.
// CHECK-LABEL: func.func @repeated_batch
// CHECK:         edge.expand_copy
func.func @repeated_batch(%q: tensor<8x1x32xf32>, %k: tensor<1x2x32x64xf32>) -> tensor<8x1x64xf32> {
  %0 = edge.expand_copy %k {size = [4, 2, 32, 64]} : (tensor<1x2x32x64xf32>) -> tensor<4x2x32x64xf32>
  %1 = edge.view_copy %0 {size = [8, 32, 64]} : (tensor<4x2x32x64xf32>) -> tensor<8x32x64xf32>
  %2 = edge.bmm %q, %1 : (tensor<8x1x32xf32>, tensor<8x32x64xf32>) -> tensor<8x1x64xf32>
  func.return %2 : tensor<8x1x64xf32>
}

// -----

// Rows of matrices that are repeated.
// CHECK-LABEL: func.func @repeated_rows
// CHECK:         edge.expand_copy
func.func @repeated_rows(%q: tensor<8x1x32xf32>, %k: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> {
  %0 = edge.expand_copy %k {size = [8, 32, 64]} : (tensor<8x1x64xf32>) -> tensor<8x32x64xf32>
  %1 = edge.bmm %q, %0 : (tensor<8x1x32xf32>, tensor<8x32x64xf32>) -> tensor<8x1x64xf32>
  func.return %1 : tensor<8x1x64xf32>
}
