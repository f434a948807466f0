// RUN: et-opt -p share-matrices,verify-edge --split-input-file %s | filecheck %s
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

// -----

// Transposed before they are repeated, along several dimensions at the end of the batch.
// CHECK-LABEL: func.func @transposed_before
// CHECK-NOT:     expand_copy
// CHECK:         %[[T:.*]] = edge.permute_copy %k
// CHECK:         %[[K:.*]] = edge.view_copy %[[T]] {size = [2, 32, 64]}
// CHECK:         edge.bmm %{{.*}}, %[[K]] : (tensor<2x12x32xf32>, tensor<2x32x64xf32>) -> tensor<2x12x64xf32>
func.func @transposed_before(%q: tensor<12x2x32xf32>, %k: tensor<2x1x1x64x32xf32>) -> tensor<12x2x64xf32> {
  %0 = edge.permute_copy %k {dims = [0, 1, 2, 4, 3]} : (tensor<2x1x1x64x32xf32>) -> tensor<2x1x1x32x64xf32>
  %1 = edge.expand_copy %0 {size = [2, 3, 2, -1, -1]} : (tensor<2x1x1x32x64xf32>) -> tensor<2x3x2x32x64xf32>
  %2 = edge.view_copy %1 {size = [12, 32, 64]} : (tensor<2x3x2x32x64xf32>) -> tensor<12x32x64xf32>
  %3 = edge.bmm %q, %2 : (tensor<12x2x32xf32>, tensor<12x32x64xf32>) -> tensor<12x2x64xf32>
  func.return %3 : tensor<12x2x64xf32>
}

// -----

// One matrix for all, of two products.
// CHECK-LABEL: func.func @one_matrix
// CHECK-NOT:     expand_copy
// CHECK:         edge.bmm %{{.*}} : (tensor<1x16x32xf32>, tensor<1x32x64xf32>) -> tensor<1x16x64xf32>
// CHECK:         edge.bmm %{{.*}} : (tensor<1x24x32xf32>, tensor<1x32x64xf32>) -> tensor<1x24x64xf32>
func.func @one_matrix(%q: tensor<8x2x32xf32>, %p: tensor<8x3x32xf32>, %k: tensor<32x64xf32>) -> (tensor<8x2x64xf32>, tensor<8x3x64xf32>) {
  %0 = edge.expand_copy %k {size = [8, 32, 64]} : (tensor<32x64xf32>) -> tensor<8x32x64xf32>
  %1 = edge.bmm %q, %0 : (tensor<8x2x32xf32>, tensor<8x32x64xf32>) -> tensor<8x2x64xf32>
  %2 = edge.bmm %p, %0 : (tensor<8x3x32xf32>, tensor<8x32x64xf32>) -> tensor<8x3x64xf32>
  func.return %1, %2 : tensor<8x2x64xf32>, tensor<8x3x64xf32>
}

// -----

// Repeated matrices that are returned, too.
// CHECK-LABEL: func.func @other_reader
// CHECK:         edge.expand_copy
// CHECK:         edge.bmm %{{.*}} : (tensor<8x1x32xf32>, tensor<8x32x64xf32>)
func.func @other_reader(%q: tensor<8x1x32xf32>, %k: tensor<2x1x32x64xf32>) -> (tensor<8x1x64xf32>, tensor<8x32x64xf32>) {
  %0 = edge.expand_copy %k {size = [2, 4, 32, 64]} : (tensor<2x1x32x64xf32>) -> tensor<2x4x32x64xf32>
  %1 = edge.view_copy %0 {size = [8, 32, 64]} : (tensor<2x4x32x64xf32>) -> tensor<8x32x64xf32>
  %2 = edge.bmm %q, %1 : (tensor<8x1x32xf32>, tensor<8x32x64xf32>) -> tensor<8x1x64xf32>
  func.return %2, %1 : tensor<8x1x64xf32>, tensor<8x32x64xf32>
}

// -----

// Left matrices.
// CHECK-LABEL: func.func @left
// CHECK:         edge.expand_copy
func.func @left(%q: tensor<2x1x16x32xf32>, %k: tensor<8x32x64xf32>) -> tensor<8x16x64xf32> {
  %0 = edge.expand_copy %q {size = [2, 4, 16, 32]} : (tensor<2x1x16x32xf32>) -> tensor<2x4x16x32xf32>
  %1 = edge.view_copy %0 {size = [8, 16, 32]} : (tensor<2x4x16x32xf32>) -> tensor<8x16x32xf32>
  %2 = edge.bmm %1, %k : (tensor<8x16x32xf32>, tensor<8x32x64xf32>) -> tensor<8x16x64xf32>
  func.return %2 : tensor<8x16x64xf32>
}

// -----

// In a branch.
// CHECK-LABEL: func.func @branch
// CHECK-NOT:     expand_copy
// CHECK:         edge.bmm %{{.*}} : (tensor<2x4x32xf32>, tensor<2x32x64xf32>) -> tensor<2x4x64xf32>
func.func @branch(%q: tensor<8x1x32xf32>, %k: tensor<2x1x32x64xf32>, %p: tensor<i1>) -> tensor<8x1x64xf32> {
  %r = control.cond %p : tensor<i1> -> (tensor<8x1x64xf32>) {
    %0 = edge.expand_copy %k {size = [2, 4, 32, 64]} : (tensor<2x1x32x64xf32>) -> tensor<2x4x32x64xf32>
    %1 = edge.view_copy %0 {size = [8, 32, 64]} : (tensor<2x4x32x64xf32>) -> tensor<8x32x64xf32>
    %2 = edge.bmm %q, %1 : (tensor<8x1x32xf32>, tensor<8x32x64xf32>) -> tensor<8x1x64xf32>
    control.yield %2 : tensor<8x1x64xf32>
  } else {
    %0 = edge.full {size = [8, 1, 64], fill_value = 0.0} : () -> tensor<8x1x64xf32>
    control.yield %0 : tensor<8x1x64xf32>
  }
  func.return %r : tensor<8x1x64xf32>
}
