// RUN: et-opt -p 'convolutions-to-products{memory=any}' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'convolutions-to-products{workspace=7000 memory=any}' --split-input-file %s | filecheck %s --check-prefix=ROWS
// RUN: et-opt -p convolutions-to-products --split-input-file %s | filecheck %s --check-prefix=SPACE
// RUN: et-opt -p 'convolutions-to-products{workspace=400000 memory=any}' --split-input-file %s | filecheck %s --check-prefix=TILES

// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<1x3x4x5xf32>, %w: tensor<6x3x1x1xf32>, %b: tensor<6xf32>) -> tensor<1x6x4x5xf32> {
  // CHECK-NEXT: %[[W:.*]] = edge.view_copy %w {size = [6, 3]}
  // CHECK-NEXT: %[[X:.*]] = edge.view_copy %x {size = [3, 20]}
  // CHECK-NEXT: %[[P:.*]] = edge.mm %[[W]], %[[X]]
  // CHECK-NEXT: %[[B:.*]] = edge.view_copy %b {size = [6, 1]}
  // CHECK-NEXT: %[[S:.*]] = edge.add.Tensor %[[P]], %[[B]]
  // CHECK-NEXT: edge.view_copy %[[S]] {size = [1, 6, 4, 5]}
  %0 = edge.convolution %x, %w, %b {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x4x5xf32>, tensor<6x3x1x1xf32>, tensor<6xf32>) -> tensor<1x6x4x5xf32>
  func.return %0 : tensor<1x6x4x5xf32>
}

// -----

// 3 channels of 9 taps meet 8 by 8 outputs: 27 by 64 numbers are 6912 bytes.
// CHECK-LABEL: func.func @taps
// ROWS-LABEL: func.func @taps
func.func @taps(%x: tensor<1x3x16x16xf32>, %w: tensor<6x3x3x3xf32>) -> tensor<1x6x8x8xf32> {
  // CHECK: %[[P:.*]] = edge.constant_pad_nd %{{.*}} {pad = [1, 1, 1, 1]{{.*}}} : (tensor<3x16x16xf32>) -> tensor<3x18x18xf32>
  // CHECK-NEXT: %[[C:.*]] = edge.as_strided_copy %[[P]] {size = [3, 3, 3, 8, 8], stride = [324, 18, 1, 36, 2], storage_offset = 0}
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %[[C]] {size = [27, 64]}
  // CHECK-NEXT: edge.mm %{{.*}}, %[[V]]
  // CHECK-NEXT: edge.view_copy
  // ROWS: edge.as_strided_copy
  // ROWS-NOT: edge.cat
  // ROWS: func.return
  %0 = edge.convolution %x, %w {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x16x16xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x8x8xf32>
  func.return %0 : tensor<1x6x8x8xf32>
}

// -----

// Twice as many outputs are computed in tiles of rows.
// ROWS-LABEL: func.func @tiles
func.func @tiles(%x: tensor<1x3x32x16xf32>, %w: tensor<6x3x3x3xf32>) -> tensor<1x6x16x8xf32> {
  // ROWS: edge.as_strided_copy %[[P:.*]] {size = [3, 3, 3, 8, 8], stride = [612, 18, 1, 36, 2], storage_offset = 0}
  // ROWS: edge.as_strided_copy %[[P]] {size = [3, 3, 3, 8, 8], stride = [612, 18, 1, 36, 2], storage_offset = 288}
  // ROWS: edge.cat [{{.*}}] {dim = 1} : (tensor<6x64xf32>, tensor<6x64xf32>) -> tensor<6x128xf32>
  %0 = edge.convolution %x, %w {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x32x16xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x16x8xf32>
  func.return %0 : tensor<1x6x16x8xf32>
}

// -----

// A product for each group; in tiles of 34 channels, of which each takes 16 by 16 numbers, 18 by 18 with padding and
// 9 for each of 256 outputs: 11536 bytes. Weights of a piece are neighbours.
// CHECK-LABEL: func.func @groups
// TILES-LABEL: func.func @groups
func.func @groups(%x: tensor<1x64x16x16xf32>, %w: tensor<64x1x3x3xf32>, %b: tensor<64xf32>) -> tensor<1x64x16x16xf32> {
  // CHECK:      %[[P:.*]] = edge.constant_pad_nd %{{.*}} : (tensor<64x16x16xf32>) -> tensor<64x18x18xf32>
  // CHECK-NEXT: %[[C:.*]] = edge.as_strided_copy %[[P]] {size = [64, 1, 3, 3, 16, 16], stride = [324, 324, 18, 1, 18, 1], storage_offset = 0}
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %[[C]] {size = [64, 9, 256]}
  // CHECK-NEXT: %[[S:.*]] = edge.bmm %{{.*}}, %[[V]] : (tensor<64x1x9xf32>, tensor<64x9x256xf32>) -> tensor<64x1x256xf32>
  // CHECK-NEXT: %[[B:.*]] = edge.view_copy %b {size = [64, 1, 1]}
  // CHECK-NEXT: edge.add.Tensor %[[S]], %[[B]]
  // TILES:     edge.slice_copy.Tensor %{{.*}} {start = 0, end = 34} : (tensor<64x16x16xf32>) -> tensor<34x16x16xf32>
  // TILES:     edge.bmm
  // TILES:     edge.slice_copy.Tensor %{{.*}} {start = 34, end = 64} : (tensor<64x16x16xf32>) -> tensor<30x16x16xf32>
  // TILES:     edge.bmm
  // TILES:     edge.cat [{{.*}}] : (tensor<34x1x256xf32>, tensor<30x1x256xf32>) -> tensor<64x1x256xf32>
  %0 = edge.convolution %x, %w, %b {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 64} : (tensor<1x64x16x16xf32>, tensor<64x1x3x3xf32>, tensor<64xf32>) -> tensor<1x64x16x16xf32>
  func.return %0 : tensor<1x64x16x16xf32>
}

// -----

// Several images, transposed convolutions, unknown sizes, other layouts; and so few numbers that calls cost more.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-5: edge.convolution
func.func @stays(%x: tensor<1x4x8x8xf32>, %n: tensor<2x4x8x8xf32>, %u: tensor<?x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %t: tensor<1x1x2x2xf32>, %g: tensor<1x1x3x3xf32>, %l: tensor<1x4x8x8xf32, #edge.dim_order<0, 2, 3, 1>>, %m: tensor<4x4x1x1xf32, #edge.dim_order<0, 2, 3, 1>>) {
  %0 = edge.convolution %t, %g {stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  %1 = edge.convolution %n, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<2x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %2 = edge.convolution %x, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %3 = edge.convolution %u, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<?x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<?x4x8x8xf32>
  %4 = edge.convolution %l, %m {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x4x8x8xf32, #edge.dim_order<0, 2, 3, 1>>, tensor<4x4x1x1xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x4x8x8xf32, #edge.dim_order<0, 2, 3, 1>>
  func.return
}

// -----

// Not more may be needed at once than before, which is 3072 bytes of %x and 1536 of the result here. There, 17536 bytes
// are needed by relu; %y, the padded %x of 3888 bytes and the result leave 4112 of them, patches of a row take 864.
// SPACE-LABEL: func.func @no_workspace
// SPACE: edge.convolution
// SPACE-LABEL: func.func @workspace_of_four_rows
// SPACE-COUNT-2: edge.as_strided_copy %{{.*}} {size = [3, 3, 3, 4, 8]
// SPACE-NOT: edge.convolution
func.func @no_workspace(%x: tensor<1x3x16x16xf32>, %w: tensor<6x3x3x3xf32>) -> tensor<1x6x8x8xf32> {
  %0 = edge.convolution %x, %w {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x16x16xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x8x8xf32>
  func.return %0 : tensor<1x6x8x8xf32>
}
func.func @workspace_of_four_rows(%x: tensor<1x3x16x16xf32>, %y: tensor<2000xf32>, %w: tensor<6x3x3x3xf32>) -> (tensor<1x6x8x8xf32>, tensor<2000xf32>) {
  %0 = edge.convolution %x, %w {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x16x16xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x8x8xf32>
  %1 = edge.relu %y : tensor<2000xf32>
  func.return %0, %1 : tensor<1x6x8x8xf32>, tensor<2000xf32>
}
