// RUN: et-opt -p sink-concatenations --split-input-file %s | filecheck %s

// Through the pointwise op, which is there for each part, to the mean.
// CHECK-LABEL: func.func @mean
// CHECK:       %[[A0:.*]] = edge.relu %a
// CHECK-NEXT:  %[[A1:.*]] = edge.mean.dim %[[A0]] {dim = [2, 3]} : (tensor<1x8x4x4xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:  %[[B0:.*]] = edge.relu %b
// CHECK-NEXT:  %[[B1:.*]] = edge.mean.dim %[[B0]] {dim = [2, 3]} : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:  %[[C:.*]] = edge.cat [%[[A1]], %[[B1]]] {dim = 1} : ({{.*}}) -> tensor<1x10xf32>
// CHECK-NEXT:  func.return %[[C]]
func.func @mean(%a : tensor<1x8x4x4xf32> {program.name = "a"}, %b : tensor<1x2x4x4xf32> {program.name = "b"}) -> (tensor<1x10xf32>) {
  %c = edge.cat [%a, %b] {dim = 1} : (tensor<1x8x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x10x4x4xf32>
  %r = edge.relu %c : tensor<1x10x4x4xf32>
  %m = edge.mean.dim %r {dim = [2, 3]} : (tensor<1x10x4x4xf32>) -> tensor<1x10xf32>
  func.return %m : tensor<1x10xf32>
}

// -----

// Dimensions that are reduced before that of the concatenation go; those that are kept have size 1. Of two reductions
// in a row the second sinks too.
// CHECK-LABEL: func.func @dimensions
// CHECK:       edge.sum.dim_IntList %a {dim = [0]} : (tensor<4x2x3xf32>) -> tensor<2x3xf32>
// CHECK:       edge.amax {{.*}} {dim = [-1], keepdim = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK:       edge.cat [{{.*}}] {{.*}}(tensor<2x1xf32>, tensor<5x1xf32>) -> tensor<7x1xf32>
func.func @dimensions(%a : tensor<4x2x3xf32> {program.name = "a"}, %b : tensor<4x5x3xf32> {program.name = "b"}) -> (tensor<7x1xf32>) {
  %c = edge.cat [%a, %b] {dim = -2} : (tensor<4x2x3xf32>, tensor<4x5x3xf32>) -> tensor<4x7x3xf32>
  %s = edge.sum.dim_IntList %c {dim = [0]} : (tensor<4x7x3xf32>) -> tensor<7x3xf32>
  %m = edge.amax %s {dim = [-1], keepdim = true} : (tensor<7x3xf32>) -> tensor<7x1xf32>
  func.return %m : tensor<7x1xf32>
}

// -----

// A pool of concatenated channels, whose indices nothing uses.
// CHECK-LABEL: func.func @pool
// CHECK-COUNT-2: edge.max_pool2d_with_indices {{.*}} -> (tensor<1x8x2x2xf32>, tensor<1x8x2x2xi64>)
// CHECK-NEXT:    edge.cat
func.func @pool(%a : tensor<1x8x4x4xf32> {program.name = "a"}, %b : tensor<1x8x4x4xf32> {program.name = "b"}) -> (tensor<1x16x2x2xf32>) {
  %c = edge.cat [%a, %b] {dim = 1} : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32>
  %p, %i = edge.max_pool2d_with_indices %c {kernel_size = [2, 2], stride = [2, 2]} : (tensor<1x16x4x4xf32>) -> (tensor<1x16x2x2xf32>, tensor<1x16x2x2xi64>)
  func.return %p : tensor<1x16x2x2xf32>
}

// -----

// Not: what is concatenated along a dimension that is reduced, rows of an image that a pool meets together, what is
// needed as a whole too, and what ends as large as it began.
// CHECK-LABEL: func.func @reduced
// CHECK:       edge.cat {{.*}} -> tensor<1x16x4x4xf32>
func.func @reduced(%a : tensor<1x8x4x4xf32> {program.name = "a"}) -> (tensor<1x4x4xf32>) {
  %c = edge.cat [%a, %a] {dim = 1} : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32>
  %m = edge.mean.dim %c {dim = [1]} : (tensor<1x16x4x4xf32>) -> tensor<1x4x4xf32>
  func.return %m : tensor<1x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @rows
// CHECK:       edge.cat {{.*}} -> tensor<1x8x8x4xf32>
func.func @rows(%a : tensor<1x8x4x4xf32> {program.name = "a"}) -> (tensor<1x8x2x1xf32>) {
  %c = edge.cat [%a, %a] {dim = 2} : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x8x4xf32>
  %m = edge.avg_pool2d %c {kernel_size = [4, 4]} : (tensor<1x8x8x4xf32>) -> tensor<1x8x2x1xf32>
  func.return %m : tensor<1x8x2x1xf32>
}

// -----

// CHECK-LABEL: func.func @needed
// CHECK:       edge.cat {{.*}} -> tensor<1x16x4x4xf32>
func.func @needed(%a : tensor<1x8x4x4xf32> {program.name = "a"}) -> (tensor<1x16xf32>, tensor<1x16x4x4xf32>) {
  %c = edge.cat [%a, %a] {dim = 1} : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32>
  %m = edge.mean.dim %c {dim = [2, 3]} : (tensor<1x16x4x4xf32>) -> tensor<1x16xf32>
  func.return %m, %c : tensor<1x16xf32>, tensor<1x16x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @as_large
// CHECK:       edge.cat {{.*}} -> tensor<1x16x4x4xf32>
func.func @as_large(%a : tensor<1x8x4x4xf32> {program.name = "a"}) -> (tensor<1x16x4x4xf32>) {
  %c = edge.cat [%a, %a] {dim = 1} : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32>
  %m = edge.avg_pool2d %c {kernel_size = [3, 3], stride = [1, 1], padding = [1, 1]} : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  func.return %m : tensor<1x16x4x4xf32>
}

// -----

// A computed size is that of the concatenation.
// CHECK-LABEL: func.func @sizes
// CHECK:       edge.cat {{.*}} -> tensor<1x16x4x4xf32>
// CHECK-NEXT:  edge._adaptive_avg_pool2d {{.*}} {output_size = [%n, 1]}
func.func @sizes(%a : tensor<1x8x4x4xf32> {program.name = "a"}, %n : i64 {program.name = "n"}) -> (tensor<1x16x1x1xf32>) {
  %c = edge.cat [%a, %a] {dim = 1} : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32>
  %m = edge._adaptive_avg_pool2d %c {output_size = [%n, 1]} : (tensor<1x16x4x4xf32>, i64) -> tensor<1x16x1x1xf32>
  func.return %m : tensor<1x16x1x1xf32>
}
