// RUN: et-opt -p fit-kernels,cse,dce --split-input-file %s | filecheck %s

// As many steps as numbers of eight bits can need.
func.func @divisor(%x: tensor<4xi8>, %y: tensor<4x1xi8>) -> tensor<4x4xi8> {
  %0 = edge.gcd %x, %y : (tensor<4xi8>, tensor<4x1xi8>) -> tensor<4x4xi8>
  func.return %0 : tensor<4x4xi8>
}
// CHECK:      func.func @divisor
// CHECK-NEXT: %[[ABS:.*]] = edge.abs %x
// CHECK-NEXT: %[[ABS2:.*]] = edge.abs %y
// CHECK-NEXT: %[[CLAMP:.*]] = edge.clamp %[[ABS2]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE:.*]] = edge.floor_divide %[[ABS]], %[[CLAMP]]
// CHECK-NEXT: %[[MUL:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE]], %[[CLAMP]]
// CHECK-NEXT: %[[SUB:.*]] = edge.sub.Tensor %[[ABS]], %[[MUL]]
// CHECK-NEXT: %[[EQ:.*]] = edge.eq.Scalar %[[ABS2]] {other = 0}
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[EQ]], %[[ABS]], %[[ABS2]]
// CHECK-NEXT: %[[CLAMP2:.*]] = edge.clamp %[[SUB]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE2:.*]] = edge.floor_divide %[[WHERE]], %[[CLAMP2]]
// CHECK-NEXT: %[[MUL2:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE2]], %[[CLAMP2]]
// CHECK-NEXT: %[[SUB2:.*]] = edge.sub.Tensor %[[WHERE]], %[[MUL2]]
// CHECK-NEXT: %[[EQ2:.*]] = edge.eq.Scalar %[[SUB]] {other = 0}
// CHECK-NEXT: %[[WHERE2:.*]] = edge.where.self %[[EQ2]], %[[WHERE]], %[[SUB]]
// CHECK-NEXT: %[[CLAMP3:.*]] = edge.clamp %[[SUB2]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE3:.*]] = edge.floor_divide %[[WHERE2]], %[[CLAMP3]]
// CHECK-NEXT: %[[MUL3:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE3]], %[[CLAMP3]]
// CHECK-NEXT: %[[SUB3:.*]] = edge.sub.Tensor %[[WHERE2]], %[[MUL3]]
// CHECK-NEXT: %[[EQ3:.*]] = edge.eq.Scalar %[[SUB2]] {other = 0}
// CHECK-NEXT: %[[WHERE3:.*]] = edge.where.self %[[EQ3]], %[[WHERE2]], %[[SUB2]]
// CHECK-NEXT: %[[CLAMP4:.*]] = edge.clamp %[[SUB3]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE4:.*]] = edge.floor_divide %[[WHERE3]], %[[CLAMP4]]
// CHECK-NEXT: %[[MUL4:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE4]], %[[CLAMP4]]
// CHECK-NEXT: %[[SUB4:.*]] = edge.sub.Tensor %[[WHERE3]], %[[MUL4]]
// CHECK-NEXT: %[[EQ4:.*]] = edge.eq.Scalar %[[SUB3]] {other = 0}
// CHECK-NEXT: %[[WHERE4:.*]] = edge.where.self %[[EQ4]], %[[WHERE3]], %[[SUB3]]
// CHECK-NEXT: %[[CLAMP5:.*]] = edge.clamp %[[SUB4]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE5:.*]] = edge.floor_divide %[[WHERE4]], %[[CLAMP5]]
// CHECK-NEXT: %[[MUL5:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE5]], %[[CLAMP5]]
// CHECK-NEXT: %[[SUB5:.*]] = edge.sub.Tensor %[[WHERE4]], %[[MUL5]]
// CHECK-NEXT: %[[EQ5:.*]] = edge.eq.Scalar %[[SUB4]] {other = 0}
// CHECK-NEXT: %[[WHERE5:.*]] = edge.where.self %[[EQ5]], %[[WHERE4]], %[[SUB4]]
// CHECK-NEXT: %[[CLAMP6:.*]] = edge.clamp %[[SUB5]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE6:.*]] = edge.floor_divide %[[WHERE5]], %[[CLAMP6]]
// CHECK-NEXT: %[[MUL6:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE6]], %[[CLAMP6]]
// CHECK-NEXT: %[[SUB6:.*]] = edge.sub.Tensor %[[WHERE5]], %[[MUL6]]
// CHECK-NEXT: %[[EQ6:.*]] = edge.eq.Scalar %[[SUB5]] {other = 0}
// CHECK-NEXT: %[[WHERE6:.*]] = edge.where.self %[[EQ6]], %[[WHERE5]], %[[SUB5]]
// CHECK-NEXT: %[[CLAMP7:.*]] = edge.clamp %[[SUB6]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE7:.*]] = edge.floor_divide %[[WHERE6]], %[[CLAMP7]]
// CHECK-NEXT: %[[MUL7:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE7]], %[[CLAMP7]]
// CHECK-NEXT: %[[SUB7:.*]] = edge.sub.Tensor %[[WHERE6]], %[[MUL7]]
// CHECK-NEXT: %[[EQ7:.*]] = edge.eq.Scalar %[[SUB6]] {other = 0}
// CHECK-NEXT: %[[WHERE7:.*]] = edge.where.self %[[EQ7]], %[[WHERE6]], %[[SUB6]]
// CHECK-NEXT: %[[CLAMP8:.*]] = edge.clamp %[[SUB7]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE8:.*]] = edge.floor_divide %[[WHERE7]], %[[CLAMP8]]
// CHECK-NEXT: %[[MUL8:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE8]], %[[CLAMP8]]
// CHECK-NEXT: %[[SUB8:.*]] = edge.sub.Tensor %[[WHERE7]], %[[MUL8]]
// CHECK-NEXT: %[[EQ8:.*]] = edge.eq.Scalar %[[SUB7]] {other = 0}
// CHECK-NEXT: %[[WHERE8:.*]] = edge.where.self %[[EQ8]], %[[WHERE7]], %[[SUB7]]
// CHECK-NEXT: %[[CLAMP9:.*]] = edge.clamp %[[SUB8]] {min = 1}
// CHECK-NEXT: %[[FLOOR_DIVIDE9:.*]] = edge.floor_divide %[[WHERE8]], %[[CLAMP9]]
// CHECK-NEXT: %[[MUL9:.*]] = edge.mul.Tensor %[[FLOOR_DIVIDE9]], %[[CLAMP9]]
// CHECK-NEXT: %[[SUB9:.*]] = edge.sub.Tensor %[[WHERE8]], %[[MUL9]]
// CHECK-NEXT: %[[EQ9:.*]] = edge.eq.Scalar %[[SUB8]] {other = 0}
// CHECK-NEXT: %[[WHERE9:.*]] = edge.where.self %[[EQ9]], %[[WHERE8]], %[[SUB8]]
// CHECK-NEXT: %[[EQ10:.*]] = edge.eq.Scalar %[[SUB9]] {other = 0}
// CHECK-NEXT: %[[WHERE10:.*]] = edge.where.self %[[EQ10]], %[[WHERE9]], %[[SUB9]]
// CHECK-NEXT: func.return %[[WHERE10]]

// -----

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
