// RUN: et-opt -p legalize,cse,dce --split-input-file %s | filecheck %s

// Means over bags that begin where the offsets say, without padding, which is counted behind the last.
func.func @bags(%t: tensor<4x3xf32>, %i: tensor<5xi64>, %o: tensor<2xi64>) -> tensor<2x3xf32> {
  %0, %1, %2, %3 = edge._embedding_bag_forward_only %t, %i, %o, none {mode = 1, padding_idx = 2} : (tensor<4x3xf32>, tensor<5xi64>, tensor<2xi64>) -> (tensor<2x3xf32>, tensor<5xi64>, tensor<2xi64>, tensor<2xi64>)
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @bags
// CHECK-NEXT: %[[INDEX_SELECT:.*]] = edge.index_select %t, %i {dim = 0}
// CHECK-NEXT: %[[ARANGE:.*]] = edge.arange.start_step {start = 0, end = 5, dtype = i64}
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %[[ARANGE]] {size = [5, 1]}
// CHECK-NEXT: %[[VIEW2:.*]] = edge.view_copy %o {size = [1, 2]}
// CHECK-NEXT: %[[LE:.*]] = edge.le.Tensor %[[VIEW2]], %[[VIEW]]
// CHECK-NEXT: %[[DIM_ORDER_OPS:.*]] = edge.dim_order_ops._to_dim_order_copy %[[LE]] {dtype = i64}
// CHECK-NEXT: %[[SUM:.*]] = edge.sum.dim_IntList %[[DIM_ORDER_OPS]] {dim = [1]}
// CHECK-NEXT: %[[SUB:.*]] = edge.sub.Scalar %[[SUM]] {other = 1}
// CHECK-NEXT: %[[EQ:.*]] = edge.eq.Scalar %i {other = 2}
// CHECK-NEXT: %[[MASKED_FILL:.*]] = edge.masked_fill.Scalar %[[SUB]], %[[EQ]] {value = 2}
// CHECK-NEXT: %[[VIEW3:.*]] = edge.view_copy %[[MASKED_FILL]] {size = [5, 1]}
// CHECK-NEXT: %[[EXPAND:.*]] = edge.expand_copy %[[VIEW3]] {size = [5, 3]}
// CHECK-NEXT: %[[FULL:.*]] = edge.full {size = [3, 3], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[SCATTER_ADD:.*]] = edge.scatter_add %[[FULL]], %[[EXPAND]], %[[INDEX_SELECT]] {dim = 0}
// CHECK-NEXT: %[[FULL2:.*]] = edge.full {size = [3], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[FULL3:.*]] = edge.full {size = [5], fill_value = 1, dtype = f32}
// CHECK-NEXT: %[[SCATTER_ADD2:.*]] = edge.scatter_add %[[FULL2]], %[[MASKED_FILL]], %[[FULL3]] {dim = 0}
// CHECK-NEXT: %[[CLAMP:.*]] = edge.clamp %[[SCATTER_ADD2]] {min = 1.0}
// CHECK-NEXT: %[[VIEW4:.*]] = edge.view_copy %[[CLAMP]] {size = [3, 1]}
// CHECK-NEXT: %[[DIV:.*]] = edge.div.Tensor %[[SCATTER_ADD]], %[[VIEW4]]
// CHECK-NEXT: %[[SLICE:.*]] = edge.slice_copy.Tensor %[[DIV]] {start = 0, end = 2}
// CHECK-NEXT: func.return %[[SLICE]]

// -----

// What else there is to know of bags is the kernel's.
func.func @sizes(%t: tensor<4x3xf32>, %i: tensor<5xi64>, %o: tensor<2xi64>) -> tensor<2xi64> {
  %0, %1, %2, %3 = edge._embedding_bag_forward_only %t, %i, %o, none {mode = 1} : (tensor<4x3xf32>, tensor<5xi64>, tensor<2xi64>) -> (tensor<2x3xf32>, tensor<5xi64>, tensor<2xi64>, tensor<2xi64>)
  func.return %2 : tensor<2xi64>
}
// CHECK:      func.func @sizes
// CHECK-NEXT: %[[EMBEDDING_BAG_FORWARD_ONLY:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY2:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY3:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY4:.*]] = edge._embedding_bag_forward_only %t, %i, %o {mode = 1}
// CHECK-NEXT: func.return %[[EMBEDDING_BAG_FORWARD_ONLY3]]
