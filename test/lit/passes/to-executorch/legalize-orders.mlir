// RUN: et-opt -p legalize,cse,dce --split-input-file %s | filecheck %s

// Of equal elements the last, of NaNs too; two steps, a distance of one and one of two.
func.func @running(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0, %1 = edge.cummax %x {dim = 1} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xi64>
}
// CHECK:      func.func @running
// CHECK-NEXT: %[[ARANGE:.*]] = edge.arange.start_step {start = 0, end = 3, dtype = i64}
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %[[ARANGE]] {size = [1, 3]}
// CHECK-NEXT: %[[EXPAND:.*]] = edge.expand_copy %[[VIEW]] {size = [2, 3]}
// CHECK-NEXT: %[[SLICE:.*]] = edge.slice_copy.Tensor %x {dim = 1, start = 0, end = 2}
// CHECK-NEXT: %[[SLICE2:.*]] = edge.slice_copy.Tensor %[[EXPAND]] {dim = 1, start = 0, end = 2}
// CHECK-NEXT: %[[SLICE3:.*]] = edge.slice_copy.Tensor %x {dim = 1, start = 1, end = 3}
// CHECK-NEXT: %[[SLICE4:.*]] = edge.slice_copy.Tensor %[[EXPAND]] {dim = 1, start = 1, end = 3}
// CHECK-NEXT: %[[GE:.*]] = edge.ge.Tensor %[[SLICE3]], %[[SLICE]]
// CHECK-NEXT: %[[ISNAN:.*]] = edge.isnan %[[SLICE3]]
// CHECK-NEXT: %[[LOGICAL_OR:.*]] = edge.logical_or %[[GE]], %[[ISNAN]]
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[LOGICAL_OR]], %[[SLICE3]], %[[SLICE]]
// CHECK-NEXT: %[[WHERE2:.*]] = edge.where.self %[[LOGICAL_OR]], %[[SLICE4]], %[[SLICE2]]
// CHECK-NEXT: %[[SLICE5:.*]] = edge.slice_copy.Tensor %x {dim = 1, start = 0, end = 1}
// CHECK-NEXT: %[[CAT:.*]] = edge.cat [%[[SLICE5]], %[[WHERE]]] {dim = 1}
// CHECK-NEXT: %[[SLICE6:.*]] = edge.slice_copy.Tensor %[[EXPAND]] {dim = 1, start = 0, end = 1}
// CHECK-NEXT: %[[CAT2:.*]] = edge.cat [%[[SLICE6]], %[[WHERE2]]] {dim = 1}
// CHECK-NEXT: %[[SLICE7:.*]] = edge.slice_copy.Tensor %[[CAT]] {dim = 1, start = 0, end = 1}
// CHECK-NEXT: %[[SLICE8:.*]] = edge.slice_copy.Tensor %[[CAT2]] {dim = 1, start = 0, end = 1}
// CHECK-NEXT: %[[SLICE9:.*]] = edge.slice_copy.Tensor %[[CAT]] {dim = 1, start = 2, end = 3}
// CHECK-NEXT: %[[SLICE10:.*]] = edge.slice_copy.Tensor %[[CAT2]] {dim = 1, start = 2, end = 3}
// CHECK-NEXT: %[[GE2:.*]] = edge.ge.Tensor %[[SLICE9]], %[[SLICE7]]
// CHECK-NEXT: %[[ISNAN2:.*]] = edge.isnan %[[SLICE9]]
// CHECK-NEXT: %[[LOGICAL_OR2:.*]] = edge.logical_or %[[GE2]], %[[ISNAN2]]
// CHECK-NEXT: %[[WHERE3:.*]] = edge.where.self %[[LOGICAL_OR2]], %[[SLICE9]], %[[SLICE7]]
// CHECK-NEXT: %[[WHERE4:.*]] = edge.where.self %[[LOGICAL_OR2]], %[[SLICE10]], %[[SLICE8]]
// CHECK-NEXT: %[[SLICE11:.*]] = edge.slice_copy.Tensor %[[CAT]] {dim = 1, start = 0, end = 2}
// CHECK-NEXT: %[[CAT3:.*]] = edge.cat [%[[SLICE11]], %[[WHERE3]]] {dim = 1}
// CHECK-NEXT: %[[SLICE12:.*]] = edge.slice_copy.Tensor %[[CAT2]] {dim = 1, start = 0, end = 2}
// CHECK-NEXT: %[[CAT4:.*]] = edge.cat [%[[SLICE12]], %[[WHERE4]]] {dim = 1}
// CHECK-NEXT: func.return %[[CAT3]], %[[CAT4]]

// -----

// Integers have no NaN.
func.func @running_least(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi64>) {
  %0, %1 = edge.cummin %x {dim = 0} : (tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi64>)
  func.return %0, %1 : tensor<2xi32>, tensor<2xi64>
}
// CHECK:      func.func @running_least
// CHECK-NEXT: %[[ARANGE:.*]] = edge.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[SLICE:.*]] = edge.slice_copy.Tensor %x {start = 0, end = 1}
// CHECK-NEXT: %[[SLICE2:.*]] = edge.slice_copy.Tensor %[[ARANGE]] {start = 0, end = 1}
// CHECK-NEXT: %[[SLICE3:.*]] = edge.slice_copy.Tensor %x {start = 1, end = 2}
// CHECK-NEXT: %[[SLICE4:.*]] = edge.slice_copy.Tensor %[[ARANGE]] {start = 1, end = 2}
// CHECK-NEXT: %[[LE:.*]] = edge.le.Tensor %[[SLICE3]], %[[SLICE]]
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[LE]], %[[SLICE3]], %[[SLICE]]
// CHECK-NEXT: %[[WHERE2:.*]] = edge.where.self %[[LE]], %[[SLICE4]], %[[SLICE2]]
// CHECK-NEXT: %[[CAT:.*]] = edge.cat [%[[SLICE]], %[[WHERE]]]
// CHECK-NEXT: %[[CAT2:.*]] = edge.cat [%[[SLICE2]], %[[WHERE2]]]
// CHECK-NEXT: func.return %[[CAT]], %[[CAT2]]

// -----

// Sizes have to be known: how many steps there are depends on them.
func.func @unknown(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>) {
  %0, %1 = edge.cummin %x {dim = 0} : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>)
  func.return %0, %1 : tensor<?xf32>, tensor<?xi64>
}
// CHECK:      func.func @unknown
// CHECK-NEXT: %[[CUMMIN:.*]], %[[CUMMIN2:.*]] = edge.cummin %x {dim = 0}
// CHECK-NEXT: func.return %[[CUMMIN]], %[[CUMMIN2]]

// -----

// By value, and then by rank and place: NaNs are of one rank.
func.func @stable(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi64>) {
  %0, %1 = edge.sort.stable %x {stable = true, dim = 0, descending = true} : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xi64>
}
// CHECK:      func.func @stable
// CHECK-NEXT: %[[TOPK:.*]], %[[TOPK2:.*]] = edge.topk %x {k = 3, dim = 0}
// CHECK-NEXT: %[[SLICE:.*]] = edge.slice_copy.Tensor %[[TOPK]] {start = 0, end = 2}
// CHECK-NEXT: %[[SLICE2:.*]] = edge.slice_copy.Tensor %[[TOPK]] {start = 1, end = 3}
// CHECK-NEXT: %[[NE:.*]] = edge.ne.Tensor %[[SLICE]], %[[SLICE2]]
// CHECK-NEXT: %[[ISNAN:.*]] = edge.isnan %[[SLICE]]
// CHECK-NEXT: %[[ISNAN2:.*]] = edge.isnan %[[SLICE2]]
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = edge.logical_and %[[ISNAN]], %[[ISNAN2]]
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = edge.logical_not %[[LOGICAL_AND]]
// CHECK-NEXT: %[[LOGICAL_AND2:.*]] = edge.logical_and %[[NE]], %[[LOGICAL_NOT]]
// CHECK-NEXT: %[[DIM_ORDER_OPS:.*]] = edge.dim_order_ops._to_dim_order_copy %[[LOGICAL_AND2]] {dtype = i64}
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = edge.constant_pad_nd %[[DIM_ORDER_OPS]] {pad = [1, 0]}
// CHECK-NEXT: %[[CUMSUM:.*]] = edge.cumsum %[[CONSTANT_PAD_ND]] {dim = 0}
// CHECK-NEXT: %[[MUL:.*]] = edge.mul.Scalar %[[CUMSUM]] {other = 3}
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Tensor %[[MUL]], %[[TOPK2]]
// CHECK-NEXT: %[[TOPK3:.*]], %[[TOPK4:.*]] = edge.topk %[[ADD]] {k = 3, dim = 0, largest = false}
// CHECK-NEXT: %[[GATHER:.*]] = edge.gather %[[TOPK]], %[[TOPK4]] {dim = 0}
// CHECK-NEXT: %[[GATHER2:.*]] = edge.gather %[[TOPK2]], %[[TOPK4]] {dim = 0}
// CHECK-NEXT: func.return %[[GATHER]], %[[GATHER2]]

// -----

func.func @truth(%x: tensor<3xi1>) -> (tensor<3xi1>, tensor<3xi64>) {
  %0, %1 = edge.sort %x {dim = 0} : (tensor<3xi1>) -> (tensor<3xi1>, tensor<3xi64>)
  func.return %0, %1 : tensor<3xi1>, tensor<3xi64>
}
// CHECK:      func.func @truth
// CHECK-NEXT: %[[DIM_ORDER_OPS:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = ui8}
// CHECK-NEXT: %[[TOPK:.*]], %[[TOPK2:.*]] = edge.topk %[[DIM_ORDER_OPS]] {k = 3, dim = 0, largest = false}
// CHECK-NEXT: %[[DIM_ORDER_OPS2:.*]] = edge.dim_order_ops._to_dim_order_copy %[[TOPK]] {dtype = i1}
// CHECK-NEXT: func.return %[[DIM_ORDER_OPS2]], %[[TOPK2]]

// -----

// Sorted by where they go; of equal indices only the last is written, the rest behind the end.
func.func @combined(%x: tensor<4x3xf32>, %i: tensor<4x2xi64>, %y: tensor<4x2xf32>) -> tensor<4x3xf32> {
  %0 = edge.scatter_reduce.two %x, %i, %y {dim = 1, reduce = "amax"} : (tensor<4x3xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x3xf32>
  func.return %0 : tensor<4x3xf32>
}
// CHECK:      func.func @combined
// CHECK-NEXT: %[[TOPK:.*]], %[[TOPK2:.*]] = edge.topk %i {k = 2, dim = 1, largest = false}
// CHECK-NEXT: %[[GATHER:.*]] = edge.gather %y, %[[TOPK2]] {dim = 1}
// CHECK-NEXT: %[[SLICE:.*]] = edge.slice_copy.Tensor %[[GATHER]] {dim = 1, start = 0, end = 1}
// CHECK-NEXT: %[[SLICE2:.*]] = edge.slice_copy.Tensor %[[GATHER]] {dim = 1, start = 1, end = 2}
// CHECK-NEXT: %[[SLICE3:.*]] = edge.slice_copy.Tensor %[[TOPK]] {dim = 1, start = 0, end = 1}
// CHECK-NEXT: %[[SLICE4:.*]] = edge.slice_copy.Tensor %[[TOPK]] {dim = 1, start = 1, end = 2}
// CHECK-NEXT: %[[EQ:.*]] = edge.eq.Tensor %[[SLICE3]], %[[SLICE4]]
// CHECK-NEXT: %[[MAXIMUM:.*]] = edge.maximum %[[SLICE]], %[[SLICE2]]
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[EQ]], %[[MAXIMUM]], %[[SLICE2]]
// CHECK-NEXT: %[[CAT:.*]] = edge.cat [%[[SLICE]], %[[WHERE]]] {dim = 1}
// CHECK-NEXT: %[[GATHER2:.*]] = edge.gather %x, %[[TOPK]] {dim = 1}
// CHECK-NEXT: %[[MAXIMUM2:.*]] = edge.maximum %[[CAT]], %[[GATHER2]]
// CHECK-NEXT: %[[MASKED_FILL:.*]] = edge.masked_fill.Scalar %[[SLICE3]], %[[EQ]] {value = 3}
// CHECK-NEXT: %[[CAT2:.*]] = edge.cat [%[[MASKED_FILL]], %[[SLICE4]]] {dim = 1}
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = edge.constant_pad_nd %x {pad = [0, 1]}
// CHECK-NEXT: %[[SCATTER:.*]] = edge.scatter.src %[[CONSTANT_PAD_ND]], %[[CAT2]], %[[MAXIMUM2]] {dim = 1}
// CHECK-NEXT: %[[SLICE5:.*]] = edge.slice_copy.Tensor %[[SCATTER]] {dim = 1, start = 0, end = 3}
// CHECK-NEXT: func.return %[[SLICE5]]

// -----

// What is scattered alone, in f32; there is more of it than indices.
func.func @product(%x: tensor<3xbf16>, %i: tensor<1xi64>, %y: tensor<2xbf16>) -> tensor<3xbf16> {
  %0 = edge.scatter_reduce.two %x, %i, %y {dim = 0, reduce = "prod", include_self = false} : (tensor<3xbf16>, tensor<1xi64>, tensor<2xbf16>) -> tensor<3xbf16>
  func.return %0 : tensor<3xbf16>
}
// CHECK:      func.func @product
// CHECK-NEXT: %[[SLICE:.*]] = edge.slice_copy.Tensor %y {start = 0, end = 1}
// CHECK-NEXT: %[[DIM_ORDER_OPS:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = f32}
// CHECK-NEXT: %[[DIM_ORDER_OPS2:.*]] = edge.dim_order_ops._to_dim_order_copy %[[SLICE]] {dtype = f32}
// CHECK-NEXT: %[[TOPK:.*]], %[[TOPK2:.*]] = edge.topk %i {k = 1, dim = 0, largest = false}
// CHECK-NEXT: %[[GATHER:.*]] = edge.gather %[[DIM_ORDER_OPS2]], %[[TOPK2]] {dim = 0}
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = edge.constant_pad_nd %[[DIM_ORDER_OPS]] {pad = [0, 1]}
// CHECK-NEXT: %[[SCATTER:.*]] = edge.scatter.src %[[CONSTANT_PAD_ND]], %[[TOPK]], %[[GATHER]] {dim = 0}
// CHECK-NEXT: %[[SLICE2:.*]] = edge.slice_copy.Tensor %[[SCATTER]] {start = 0, end = 3}
// CHECK-NEXT: %[[DIM_ORDER_OPS3:.*]] = edge.dim_order_ops._to_dim_order_copy %[[SLICE2]] {dtype = bf16}
// CHECK-NEXT: func.return %[[DIM_ORDER_OPS3]]

// -----

// A tensor without dimensions gets one; a sum of booleans is the greatest of them.
func.func @single(%x: tensor<i1>, %i: tensor<i64>) -> tensor<i1> {
  %0 = edge.scatter_reduce.two %x, %i, %x {dim = 0, reduce = "sum"} : (tensor<i1>, tensor<i64>, tensor<i1>) -> tensor<i1>
  func.return %0 : tensor<i1>
}
// CHECK:      func.func @single
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %x {size = [1]}
// CHECK-NEXT: %[[VIEW2:.*]] = edge.view_copy %i {size = [1]}
// CHECK-NEXT: %[[DIM_ORDER_OPS:.*]] = edge.dim_order_ops._to_dim_order_copy %[[VIEW]] {dtype = ui8}
// CHECK-NEXT: %[[TOPK:.*]], %[[TOPK2:.*]] = edge.topk %[[VIEW2]] {k = 1, dim = 0, largest = false}
// CHECK-NEXT: %[[GATHER:.*]] = edge.gather %[[DIM_ORDER_OPS]], %[[TOPK2]] {dim = 0}
// CHECK-NEXT: %[[GATHER2:.*]] = edge.gather %[[DIM_ORDER_OPS]], %[[TOPK]] {dim = 0}
// CHECK-NEXT: %[[MAXIMUM:.*]] = edge.maximum %[[GATHER]], %[[GATHER2]]
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = edge.constant_pad_nd %[[DIM_ORDER_OPS]] {pad = [0, 1]}
// CHECK-NEXT: %[[SCATTER:.*]] = edge.scatter.src %[[CONSTANT_PAD_ND]], %[[TOPK]], %[[MAXIMUM]] {dim = 0}
// CHECK-NEXT: %[[SLICE:.*]] = edge.slice_copy.Tensor %[[SCATTER]] {start = 0, end = 1}
// CHECK-NEXT: %[[DIM_ORDER_OPS2:.*]] = edge.dim_order_ops._to_dim_order_copy %[[SLICE]] {dtype = i1}
// CHECK-NEXT: %[[VIEW3:.*]] = edge.view_copy %[[DIM_ORDER_OPS2]] {size = []}
// CHECK-NEXT: func.return %[[VIEW3]]

// -----

func.func @nothing(%x: tensor<3xf32>, %i: tensor<0xi64>, %y: tensor<0xf32>) -> tensor<3xf32> {
  %0 = edge.scatter_reduce.two %x, %i, %y {dim = 0, reduce = "mean"} : (tensor<3xf32>, tensor<0xi64>, tensor<0xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @nothing
// CHECK-NEXT: %[[DIM_ORDER_OPS:.*]] = edge.dim_order_ops._clone_dim_order %x
// CHECK-NEXT: func.return %[[DIM_ORDER_OPS]]

// -----

// A sort is the largest or smallest of all, whatever other sizes there are.
func.func @sort(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xi64>) {
  %0, %1 = edge.sort %x {dim = 1, descending = true} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xi64>)
  func.return %0, %1 : tensor<?x4xf32>, tensor<?x4xi64>
}
// CHECK:      func.func @sort
// CHECK-NEXT: edge.topk %x {k = 4, dim = 1}
// CHECK-NEXT: func.return

// -----

// As many as there are, where that is known at run time only.
func.func @sort_of_dynamic_size(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>) {
  %0, %1 = edge.sort %x : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>)
  func.return %0, %1 : tensor<?xf32>, tensor<?xi64>
}
// CHECK:      func.func @sort_of_dynamic_size
// CHECK-NEXT: %[[SIZE:.*]] = edge.sym_size.int %x {dim = 0}
// CHECK-NEXT: edge.topk %x {k = %[[SIZE]]
// CHECK-NEXT: func.return
