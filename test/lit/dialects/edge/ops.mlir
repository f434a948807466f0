// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// Edge ops have the syntax of aten ops; memory layout is the encoding of a tensor's type.

// CHECK-LABEL: func.func @layout
func.func @layout(%x: tensor<1x2x3x4xf32>, %y: tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) {
  // CHECK-NEXT: edge.relu %x : tensor<1x2x3x4xf32>
  %0 = edge.relu %x : tensor<1x2x3x4xf32>
  // CHECK-NEXT: edge.relu %y : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  %1 = edge.relu %y : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  // CHECK-NEXT: edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 2, 3, 1]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  %2 = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 2, 3, 1]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %x {dtype = f16} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf16>
  %3 = edge.dim_order_ops._to_dim_order_copy %x {dtype = f16} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf16>
  func.return
}

// CHECK-LABEL: func.func @schema
func.func @schema(%x: tensor<2x3xf32>, %b: tensor<4xf32>, %w: tensor<3x4xf32>, %s: i64) {
  // CHECK-NEXT: edge.addmm %b, %x, %w {beta = 2} : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %0 = edge.addmm %b, %x, %w {beta = 2, alpha = 1} : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: edge.view_copy %x {size = [%s, -1]} : (tensor<2x3xf32>, i64) -> tensor<?x?xf32>
  %1 = edge.view_copy %x {size = [%s, -1]} : (tensor<2x3xf32>, i64) -> tensor<?x?xf32>
  // CHECK-NEXT: %{{.*}}, %{{.*}} = edge.split_with_sizes_copy %x {split_sizes = [1, 2], dim = 1} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>)
  %2, %3 = edge.split_with_sizes_copy %x {split_sizes = [1, 2], dim = 1} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>)
  // CHECK-NEXT: edge.cat [%x, %x] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %4 = edge.cat [%x, %x] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}
