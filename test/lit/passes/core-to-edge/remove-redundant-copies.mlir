// RUN: et-opt -p remove-redundant-copies,dce --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @merges
func.func @merges(%x: tensor<1x2x3x4xf32>, %n: tensor<4xi8>) -> (tensor<1x2x3x4xf32>, tensor<4xi64>) {
  %0 = edge.dim_order_ops._to_dim_order_copy %x {dtype = f32} : tensor<1x2x3x4xf32>
  %1 = edge.dim_order_ops._clone_dim_order %0 {dim_order = [0, 2, 3, 1]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  %2 = edge.dim_order_ops._clone_dim_order %1 {dim_order = [0, 1, 2, 3]} : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x3x4xf32>
  // CHECK-NEXT: edge.relu %x
  %3 = edge.relu %2 : tensor<1x2x3x4xf32>
  %4 = edge.dim_order_ops._to_dim_order_copy %n {dtype = f32} : (tensor<4xi8>) -> tensor<4xf32>
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %n {dtype = i64, dim_order = [0]}
  %5 = edge.dim_order_ops._to_dim_order_copy %4 {dtype = i64} : (tensor<4xf32>) -> tensor<4xi64>
  func.return %3, %5 : tensor<1x2x3x4xf32>, tensor<4xi64>
}

// -----

// The first conversion rounds; an output needs memory of its own.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %x {dtype = f16}
  %0 = edge.dim_order_ops._to_dim_order_copy %x {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %{{.*}} {dtype = f32}
  %1 = edge.dim_order_ops._to_dim_order_copy %0 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: edge.dim_order_ops._clone_dim_order %x
  %2 = edge.dim_order_ops._clone_dim_order %x : tensor<4xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
