// RUN: et-opt -p select-kernels --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x4xf32>, %w: tensor<8x4xf32>, %b: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = edge.permute_copy %w {dims = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: edge.linear %x, %w
  %1 = edge.mm %x, %0 : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: edge.linear %x, %w, %b
  %2 = edge.addmm %b, %x, %0 : (tensor<8xf32>, tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  func.return %1, %2 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// The matrix is not transposed, or its transposition is needed anyway: nothing but the sum is taken out.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>, %v: tensor<32x64xf32>, %b: tensor<32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<64x32xf32>) {
  // CHECK:      %[[P:.*]] = edge.mm %x, %w
  // CHECK-NEXT: edge.add.Tensor %[[P]], %b
  %0 = edge.addmm %b, %x, %w : (tensor<32xf32>, tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  // CHECK:      %[[Q:.*]] = edge.mm %x, %{{.*}}
  // CHECK-NEXT: edge.add.Tensor %[[Q]], %b
  %1 = edge.permute_copy %v {dims = [1, 0]} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %2 = edge.addmm %b, %x, %1 : (tensor<32xf32>, tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  func.return %0, %2, %1 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<64x32xf32>
}

// -----

// Two dimensions, or groups of neighbouring ones, change places; dimensions of size 1 do not count.
// CHECK-LABEL: func.func @transpositions
func.func @transpositions(%x: tensor<1x64x4x8xf32>) -> (tensor<1x4x64x8xf32>, tensor<1x4x8x64xf32>) {
  // CHECK-NEXT: %[[R:.*]] = edge.relu
  %0 = edge.relu %x : tensor<1x64x4x8xf32>
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %[[R]] {size = [64, 4, 8]}
  // CHECK-NEXT: %[[T:.*]] = edge.transpose_copy.int %[[V]] {dim0 = 0, dim1 = 1}
  // CHECK-NEXT: %[[W:.*]] = edge.view_copy %[[T]] {size = [1, 4, 64, 8]}
  // CHECK-NEXT: edge.neg %[[W]]
  %1 = edge.permute_copy %0 {dims = [0, 2, 1, 3]} : (tensor<1x64x4x8xf32>) -> tensor<1x4x64x8xf32>
  %2 = edge.neg %1 : tensor<1x4x64x8xf32>
  // CHECK-NEXT: %[[A:.*]] = edge.view_copy %[[R]] {size = [64, 32]}
  // CHECK-NEXT: %[[B:.*]] = edge.transpose_copy.int %[[A]] {dim0 = 0, dim1 = 1}
  // CHECK-NEXT: %[[C:.*]] = edge.view_copy %[[B]] {size = [1, 4, 8, 64]}
  %3 = edge.permute_copy %0 {dims = [0, 2, 3, 1]} : (tensor<1x64x4x8xf32>) -> tensor<1x4x8x64xf32>
  %4 = edge.neg %3 : tensor<1x4x8x64xf32>
  func.return %2, %4 : tensor<1x4x64x8xf32>, tensor<1x4x8x64xf32>
}

// -----

// Another use of the transposition, scaled sums, a rotation of three groups, views that would not be free.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<2x4xf32>, %w: tensor<8x4xf32>, %b: tensor<8xf32>, %r: tensor<2x3x4xf32>, %c: tensor<1x3x4xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<4x3x2xf32>, tensor<3x4x2xf32>, tensor<4x1x3xf32>) {
  // CHECK-NEXT: %[[T:.*]] = edge.transpose_copy.int %w
  %0 = edge.permute_copy %w {dims = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: edge.mm %x, %[[T]]
  %1 = edge.mm %x, %0 : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: edge.addmm %b, %x, %[[T]] {beta = 2}
  %2 = edge.addmm %b, %x, %0 {beta = 2} : (tensor<8xf32>, tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: edge.transpose_copy.int %r {dim0 = 0, dim1 = 2}
  %3 = edge.permute_copy %r {dims = [2, 1, 0]} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  // CHECK-NEXT: edge.permute_copy %r {dims = [1, 2, 0]}
  %4 = edge.permute_copy %r {dims = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  // CHECK-NEXT: edge.permute_copy %c {dims = [2, 0, 1]}
  %5 = edge.permute_copy %c {dims = [2, 0, 1]} : (tensor<1x3x4xf32>) -> tensor<4x1x3xf32>
  func.return %1, %0, %2, %3, %4, %5 : tensor<2x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<4x3x2xf32>, tensor<3x4x2xf32>, tensor<4x1x3xf32>
}

// -----

// A query and many keys: the keys stay as they are, vectors are transposed by a view.
// CHECK-LABEL: @query
// CHECK:       %[[KEYS:.*]] = edge.view_copy %k {size = [8, 64, 16]}
// CHECK:       %[[QUERY:.*]] = edge.view_copy %q {size = [8, 16, 1]}
// CHECK:       %[[SCORES:.*]] = edge.bmm %[[KEYS]], %[[QUERY]] : (tensor<8x64x16xf32>, tensor<8x16x1xf32>) -> tensor<8x64x1xf32>
// CHECK:       edge.view_copy %[[SCORES]] {size = [8, 1, 64]}
func.func @query(%q: tensor<8x1x16xf32>, %k: tensor<2x4x64x16xf32>) -> tensor<8x1x64xf32> {
  %0 = edge.permute_copy %k {dims = [0, 1, 3, 2]} : (tensor<2x4x64x16xf32>) -> tensor<2x4x16x64xf32>
  %1 = edge.view_copy %0 {size = [8, 16, 64]} : (tensor<2x4x16x64xf32>) -> tensor<8x16x64xf32>
  %2 = edge.bmm %q, %1 : (tensor<8x1x16xf32>, tensor<8x16x64xf32>) -> tensor<8x1x64xf32>
  func.return %2 : tensor<8x1x64xf32>
}

// -----

// Does not fire: as many queries as keys.
// CHECK-LABEL: @queries
// CHECK:       edge.bmm %q, %{{.*}} : (tensor<4x64x16xf32>, tensor<4x16x64xf32>) -> tensor<4x64x64xf32>
func.func @queries(%q: tensor<4x64x16xf32>, %k: tensor<4x64x16xf32>) -> tensor<4x64x64xf32> {
  %0 = edge.permute_copy %k {dims = [0, 2, 1]} : (tensor<4x64x16xf32>) -> tensor<4x16x64xf32>
  %1 = edge.bmm %q, %0 : (tensor<4x64x16xf32>, tensor<4x16x64xf32>) -> tensor<4x64x64xf32>
  func.return %1 : tensor<4x64x64xf32>
}
