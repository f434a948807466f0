// RUN: et-opt -p memory-formats-to-dim-orders --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @formats
func.func @formats(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf16>) {
  // The result is copied back for its users.
  // CHECK-NEXT: %[[A:.*]] = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 2, 3, 1]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  // CHECK-NEXT: %[[B:.*]] = edge.dim_order_ops._clone_dim_order %[[A]] {dim_order = [0, 1, 2, 3]}
  %0 = edge.clone %x {memory_format = "channels_last"} : tensor<1x2x3x4xf32>
  // CHECK-NEXT: edge.dim_order_ops._clone_dim_order %[[B]] {dim_order = [0, 1, 2, 3]} : tensor<1x2x3x4xf32>
  %1 = edge.clone %0 {memory_format = "contiguous_format"} : tensor<1x2x3x4xf32>
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %{{.*}} {dtype = f16} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf16>
  %2 = edge._to_copy %1 {dtype = f16} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf16>
  // CHECK-NEXT: edge.dim_order_ops._empty_dim_order {size = [2]}
  %3 = edge.empty.memory_format {size = [2]} : () -> tensor<2xf32>
  // CHECK-NEXT: edge.full_like %{{.*}} {fill_value = 1.0} : tensor<1x2x3x4xf32>
  %4 = edge.full_like %1 {fill_value = 1.0, memory_format = "preserve_format"} : tensor<1x2x3x4xf32>
  func.return %4, %2 : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf16>
}

// -----

// An input says its layout in its type.
// CHECK-LABEL: func.func @input
// CHECK-SAME: %x: tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>> {program.name = "x"}
func.func @input(%x: tensor<1x2x3x4xf32> {program.name = "x", program.dim_order = array<i64: 0, 2, 3, 1>}) -> tensor<1x2x3x4xf32> {
  // CHECK-NEXT: %[[C:.*]] = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 1, 2, 3]}
  // CHECK-NEXT: edge.relu %[[C]] : tensor<1x2x3x4xf32>
  %0 = edge.relu %x : tensor<1x2x3x4xf32>
  func.return %0 : tensor<1x2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: edge.full_like %x {fill_value = 1.0}
  %0 = edge.full_like %x {fill_value = 1.0} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// What is written to an input gets the input's layout.
// CHECK-LABEL: func.func @overwrite
func.func @overwrite(%x: tensor<1x2x3x4xf32> {program.dim_order = array<i64: 0, 2, 3, 1>}) {
  // CHECK-NEXT: %[[C:.*]] = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 1, 2, 3]}
  // CHECK-NEXT: %[[NEW:.*]] = edge.relu %[[C]] : tensor<1x2x3x4xf32>
  // CHECK-NEXT: %[[BACK:.*]] = edge.dim_order_ops._clone_dim_order %[[NEW]] {dim_order = [0, 2, 3, 1]}
  // CHECK-NEXT: program.overwrite %x, %[[BACK]] : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  %0 = edge.relu %x : tensor<1x2x3x4xf32>
  program.overwrite %x, %0 : tensor<1x2x3x4xf32>
  func.return
}
