// RUN: et-opt -p legalize --split-input-file %s | filecheck %s
// RUN: et-opt -p 'legalize{target="et-vm"}' --split-input-file %s | filecheck %s --check-prefix=VM

// CHECK-LABEL: func.func @no_dimensions
func.func @no_dimensions(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %x {size = [1]}
  // CHECK-NEXT: %[[S:.*]] = edge.cumsum %[[V]] {dim = 0} : tensor<1xf32>
  // CHECK-NEXT: edge.view_copy %[[S]] {size = []}
  // VM: edge.cumsum %x {dim = 0} : tensor<f32>
  %0 = edge.cumsum %x {dim = 0} : tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @index
func.func @index(%x: tensor<4x3xf32>, %i: tensor<4x2xi32>) -> tensor<4x2xf32> {
  // CHECK-NEXT: %[[W:.*]] = edge.dim_order_ops._to_dim_order_copy %i {dtype = i64}
  // CHECK-NEXT: edge.gather %x, %[[W]]
  %0 = edge.gather %x, %i {dim = 1} : (tensor<4x3xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}

// -----

// A sum with a factor of which the first operand has one element; one of equal shapes stays.
// CHECK-LABEL: func.func @factor
func.func @factor(%a: tensor<1xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[E:.*]] = edge.expand_copy %a {size = [4]}
  // CHECK-NEXT: edge.add.Tensor %[[E]], %x {alpha = 3}
  %0 = edge.add.Tensor %a, %x {alpha = 3} : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: edge.add.Tensor %x, %x {alpha = 3}
  %1 = edge.add.Tensor %x, %x {alpha = 3} : tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @crop
func.func @crop(%x: tensor<4xf32>) -> tensor<5xf32> {
  // CHECK-NEXT: %[[S:.*]] = edge.slice_copy.Tensor %x {start = 1, end = 4}
  // CHECK-NEXT: edge.constant_pad_nd %[[S]] {pad = [0, 2]}
  %0 = edge.constant_pad_nd %x {pad = [-1, 2]} : (tensor<4xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}

// -----

// A sum in f64 is one over another dimension, too; in f32 or over two it stays.
// CHECK-LABEL: func.func @sum
func.func @sum(%x: tensor<2x3x4xf64>, %y: tensor<2x3xf32>) -> (tensor<2x4xf64>, tensor<2x3x1xf64>, tensor<4xf64>, tensor<2xf32>) {
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %x {size = [2, 3, 4, 1]}
  // CHECK-NEXT: edge.sum.dim_IntList %[[V]] {dim = [1, 3]} : (tensor<2x3x4x1xf64>) -> tensor<2x4xf64>
  // CHECK-NEXT: %[[W:.*]] = edge.view_copy %x {size = [2, 3, 4, 1]}
  // CHECK-NEXT: %[[S:.*]] = edge.sum.dim_IntList %[[W]] {dim = [2, 3], keepdim = true}
  // CHECK-NEXT: edge.view_copy %[[S]] {size = [2, 3, 1]}
  // CHECK-NEXT: edge.sum.dim_IntList %x {dim = [0, 1]}
  // CHECK-NEXT: edge.sum.dim_IntList %y {dim = [1]}
  // VM: edge.sum.dim_IntList %x {dim = [1]}
  %0 = edge.sum.dim_IntList %x {dim = [1]} : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  %1 = edge.sum.dim_IntList %x {dim = [-1], keepdim = true} : (tensor<2x3x4xf64>) -> tensor<2x3x1xf64>
  %2 = edge.sum.dim_IntList %x {dim = [0, 1]} : (tensor<2x3x4xf64>) -> tensor<4xf64>
  %3 = edge.sum.dim_IntList %y {dim = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0, %1, %2, %3 : tensor<2x4xf64>, tensor<2x3x1xf64>, tensor<4xf64>, tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @pool_gradient
func.func @pool_gradient(%g: tensor<2x1x3xf32>, %x: tensor<2x3x6xf32>, %i: tensor<2x1x3xi64>) -> tensor<2x3x6xf32> {
  // CHECK-NEXT: %[[Z:.*]] = edge.full {size = [2, 18], fill_value = 0, dtype = f32}
  // CHECK-NEXT: %[[I:.*]] = edge.view_copy %i {size = [2, 3]}
  // CHECK-NEXT: %[[G:.*]] = edge.view_copy %g {size = [2, 3]}
  // CHECK-NEXT: %[[S:.*]] = edge.scatter_add %[[Z]], %[[I]], %[[G]] {dim = 1}
  // CHECK-NEXT: edge.view_copy %[[S]] {size = [2, 3, 6]}
  %0 = edge.max_pool2d_with_indices_backward %g, %x, %i {kernel_size = [3, 2], stride = [3, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false} : (tensor<2x1x3xf32>, tensor<2x3x6xf32>, tensor<2x1x3xi64>) -> tensor<2x3x6xf32>
  func.return %0 : tensor<2x3x6xf32>
}

// -----

// Of no dimensions, of a tensor that has none.
// CHECK-LABEL: func.func @any_of_none
func.func @any_of_none(%x: tensor<f32>) -> tensor<i1> {
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %x {size = [1]}
  // CHECK-NEXT: edge.any.dims %[[V]] {dim = [0]} : (tensor<1xf32>) -> tensor<i1>
  %0 = edge.any.dims %x {dim = []} : (tensor<f32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

// -----

// CHECK-LABEL: func.func @variance
func.func @variance(%x: tensor<4x3xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<f32>) {
  // CHECK-NEXT: %[[W:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = f32}
  // CHECK-NEXT: %[[V:.*]] = edge.var.correction %[[W]] {dim = [1], correction = 0} : (tensor<4x3xf32>) -> tensor<4xf32>
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %[[V]] {dtype = bf16}
  // VM: edge.var.correction %x
  %0 = edge.var.correction %x {dim = [1], correction = 0} : (tensor<4x3xbf16>) -> tensor<4xbf16>
  // CHECK-NEXT: edge.var.correction %y : (tensor<4xf32>) -> tensor<f32>
  %1 = edge.var.correction %y : (tensor<4xf32>) -> tensor<f32>
  func.return %0, %1 : tensor<4xbf16>, tensor<f32>
}
