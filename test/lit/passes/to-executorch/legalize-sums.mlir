// RUN: et-opt -p legalize,cse,dce --split-input-file %s | filecheck %s

// All windows count what they have of the volume: products of numbers for each dimension.
func.func @volumes(%x: tensor<1x2x3x4x4xf32>) -> tensor<1x2x2x2x2xf32> {
  %0 = edge.avg_pool3d %x {kernel_size = [2, 2, 2], stride = [2, 2, 2], ceil_mode = true, count_include_pad = false} : (tensor<1x2x3x4x4xf32>) -> tensor<1x2x2x2x2xf32>
  func.return %0 : tensor<1x2x2x2x2xf32>
}
// CHECK:      func.func @volumes
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %x {size = [1, 6, 4, 4]}
// CHECK-NEXT: %[[AVG_POOL2D:.*]] = edge.avg_pool2d %[[VIEW]] {kernel_size = [2, 2], stride = [2, 2], ceil_mode = true, divisor_override = 1}
// CHECK-NEXT: %[[VIEW2:.*]] = edge.view_copy %[[AVG_POOL2D]] {size = [1, 2, 3, 4]}
// CHECK-NEXT: %[[AVG_POOL2D2:.*]] = edge.avg_pool2d %[[VIEW2]] {kernel_size = [2, 1], stride = [2, 1], ceil_mode = true, divisor_override = 1}
// CHECK-NEXT: %[[VIEW3:.*]] = edge.view_copy %[[AVG_POOL2D2]] {size = [1, 2, 2, 2, 2]}
// CHECK-NEXT: %[[FULL:.*]] = edge.full {size = [1], fill_value = 2, dtype = f32}
// CHECK-NEXT: %[[FULL2:.*]] = edge.full {size = [1], fill_value = 1, dtype = f32}
// CHECK-NEXT: %[[CAT:.*]] = edge.cat [%[[FULL]], %[[FULL2]]]
// CHECK-NEXT: %[[VIEW4:.*]] = edge.view_copy %[[CAT]] {size = [2, 1, 1]}
// CHECK-NEXT: %[[FULL3:.*]] = edge.full {size = [2], fill_value = 2, dtype = f32}
// CHECK-NEXT: %[[VIEW5:.*]] = edge.view_copy %[[FULL3]] {size = [1, 2, 1]}
// CHECK-NEXT: %[[VIEW6:.*]] = edge.view_copy %[[FULL3]] {size = [1, 1, 2]}
// CHECK-NEXT: %[[MUL:.*]] = edge.mul.Tensor %[[VIEW5]], %[[VIEW6]]
// CHECK-NEXT: %[[MUL2:.*]] = edge.mul.Tensor %[[VIEW4]], %[[MUL]]
// CHECK-NEXT: %[[DIV:.*]] = edge.div.Tensor %[[VIEW3]], %[[MUL2]]
// CHECK-NEXT: func.return %[[DIV]]

// -----

// Integers lose what is behind the point.
func.func @whole(%x: tensor<2x2x4x4xi64>) -> tensor<2x1x2x2xi64> {
  %0 = edge.avg_pool3d %x {kernel_size = [2, 2, 2], divisor_override = 3} : (tensor<2x2x4x4xi64>) -> tensor<2x1x2x2xi64>
  func.return %0 : tensor<2x1x2x2xi64>
}
// CHECK:      func.func @whole
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %x {size = [1, 4, 4, 4]}
// CHECK-NEXT: %[[AVG_POOL2D:.*]] = edge.avg_pool2d %[[VIEW]] {kernel_size = [2, 2], stride = [2, 2], divisor_override = 1}
// CHECK-NEXT: %[[VIEW2:.*]] = edge.view_copy %[[AVG_POOL2D]] {size = [1, 2, 2, 4]}
// CHECK-NEXT: %[[AVG_POOL2D2:.*]] = edge.avg_pool2d %[[VIEW2]] {kernel_size = [2, 1], stride = [2, 1], divisor_override = 1}
// CHECK-NEXT: %[[VIEW3:.*]] = edge.view_copy %[[AVG_POOL2D2]] {size = [2, 1, 2, 2]}
// CHECK-NEXT: %[[FULL:.*]] = edge.full {size = [1], fill_value = 3, dtype = i64}
// CHECK-NEXT: %[[ABS:.*]] = edge.abs %[[VIEW3]]
// CHECK-NEXT: %[[FLOOR_DIVIDE:.*]] = edge.floor_divide %[[ABS]], %[[FULL]]
// CHECK-NEXT: %[[LT:.*]] = edge.lt.Scalar %[[VIEW3]] {other = 0}
// CHECK-NEXT: %[[NEG:.*]] = edge.neg %[[FLOOR_DIVIDE]]
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[LT]], %[[NEG]], %[[FLOOR_DIVIDE]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @adaptive(%x: tensor<2x5x1xf64>, %y: tensor<2x5x1xf32>) -> (tensor<2x2x1xf64>, tensor<2x2x1xf32>) {
  %0 = edge._adaptive_avg_pool2d %x {output_size = [2, 1]} : (tensor<2x5x1xf64>) -> tensor<2x2x1xf64>
  %1 = edge._adaptive_avg_pool2d %y {output_size = [2, 1]} : (tensor<2x5x1xf32>) -> tensor<2x2x1xf32>
  func.return %0, %1 : tensor<2x2x1xf64>, tensor<2x2x1xf32>
}
// CHECK:      func.func @adaptive
// CHECK-NEXT: %[[FULL:.*]] = edge.full {size = [1], fill_value = 0, dtype = i64}
// CHECK-NEXT: %[[FULL2:.*]] = edge.full {size = [1], fill_value = 2, dtype = i64}
// CHECK-NEXT: %[[CAT:.*]] = edge.cat [%[[FULL]], %[[FULL2]]]
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %[[CAT]] {size = [2, 1]}
// CHECK-NEXT: %[[ARANGE:.*]] = edge.arange.start_step {start = 0, end = 3, dtype = i64}
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Tensor %[[VIEW]], %[[ARANGE]]
// CHECK-NEXT: %[[FULL3:.*]] = edge.full {size = [1], fill_value = 3, dtype = i64}
// CHECK-NEXT: %[[FULL4:.*]] = edge.full {size = [1], fill_value = 5, dtype = i64}
// CHECK-NEXT: %[[CAT2:.*]] = edge.cat [%[[FULL3]], %[[FULL4]]]
// CHECK-NEXT: %[[VIEW2:.*]] = edge.view_copy %[[CAT2]] {size = [2, 1]}
// CHECK-NEXT: %[[LT:.*]] = edge.lt.Tensor %[[ADD]], %[[VIEW2]]
// CHECK-NEXT: %[[CLAMP:.*]] = edge.clamp %[[ADD]] {max = 4}
// CHECK-NEXT: %[[VIEW3:.*]] = edge.view_copy %[[CLAMP]] {size = [6]}
// CHECK-NEXT: %[[INDEX_SELECT:.*]] = edge.index_select %x, %[[VIEW3]] {dim = 1}
// CHECK-NEXT: %[[VIEW4:.*]] = edge.view_copy %[[INDEX_SELECT]] {size = [2, 2, 3, 1]}
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = edge.logical_not %[[LT]]
// CHECK-NEXT: %[[VIEW5:.*]] = edge.view_copy %[[LOGICAL_NOT]] {size = [2, 3, 1]}
// CHECK-NEXT: %[[MASKED_FILL:.*]] = edge.masked_fill.Scalar %[[VIEW4]], %[[VIEW5]] {value = 0.0}
// CHECK-NEXT: %[[VIEW6:.*]] = edge.view_copy %[[MASKED_FILL]] {size = [2, 2, 3, 1, 1]}
// CHECK-NEXT: %[[SUM:.*]] = edge.sum.dim_IntList %[[VIEW6]] {dim = [2, 4]}
// CHECK-NEXT: %[[FULL5:.*]] = edge.full {size = [2], fill_value = 3, dtype = f64}
// CHECK-NEXT: %[[VIEW7:.*]] = edge.view_copy %[[FULL5]] {size = [2, 1]}
// CHECK-NEXT: %[[DIV:.*]] = edge.div.Tensor %[[SUM]], %[[VIEW7]]
// CHECK-NEXT: %[[VIEW8:.*]] = edge.view_copy %[[FULL]] {size = [1, 1]}
// CHECK-NEXT: %[[ARANGE2:.*]] = edge.arange.start_step {start = 0, end = 1, dtype = i64}
// CHECK-NEXT: %[[ADD2:.*]] = edge.add.Tensor %[[VIEW8]], %[[ARANGE2]]
// CHECK-NEXT: %[[FULL6:.*]] = edge.full {size = [1], fill_value = 1, dtype = i64}
// CHECK-NEXT: %[[VIEW9:.*]] = edge.view_copy %[[FULL6]] {size = [1, 1]}
// CHECK-NEXT: %[[LT2:.*]] = edge.lt.Tensor %[[ADD2]], %[[VIEW9]]
// CHECK-NEXT: %[[CLAMP2:.*]] = edge.clamp %[[ADD2]] {max = 0}
// CHECK-NEXT: %[[VIEW10:.*]] = edge.view_copy %[[CLAMP2]] {size = [1]}
// CHECK-NEXT: %[[INDEX_SELECT2:.*]] = edge.index_select %[[DIV]], %[[VIEW10]] {dim = 2}
// CHECK-NEXT: %[[VIEW11:.*]] = edge.view_copy %[[INDEX_SELECT2]] {size = [2, 2, 1, 1]}
// CHECK-NEXT: %[[LOGICAL_NOT2:.*]] = edge.logical_not %[[LT2]]
// CHECK-NEXT: %[[MASKED_FILL2:.*]] = edge.masked_fill.Scalar %[[VIEW11]], %[[LOGICAL_NOT2]] {value = 0.0}
// CHECK-NEXT: %[[VIEW12:.*]] = edge.view_copy %[[MASKED_FILL2]] {size = [2, 2, 1, 1, 1]}
// CHECK-NEXT: %[[SUM2:.*]] = edge.sum.dim_IntList %[[VIEW12]] {dim = [3, 4]}
// CHECK-NEXT: %[[FULL7:.*]] = edge.full {size = [1], fill_value = 1, dtype = f64}
// CHECK-NEXT: %[[DIV2:.*]] = edge.div.Tensor %[[SUM2]], %[[FULL7]]
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL2D:.*]] = edge._adaptive_avg_pool2d %y {output_size = [2, 1]}
// CHECK-NEXT: func.return %[[DIV2]], %[[ADAPTIVE_AVG_POOL2D]]

// -----

func.func @layer(%x: tensor<2x3xf64>, %w: tensor<3xf64>) -> (tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x1xf64>) {
  %0, %1, %2 = edge.native_layer_norm %x, %w, none {normalized_shape = [3], eps = 1.0e-05} : (tensor<2x3xf64>, tensor<3xf64>) -> (tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x1xf64>)
  func.return %0, %1, %2 : tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x1xf64>
}
// CHECK:      func.func @layer
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %x {size = [2, 3, 1]}
// CHECK-NEXT: %[[SUM:.*]] = edge.sum.dim_IntList %[[VIEW]] {dim = [1, 2], keepdim = true}
// CHECK-NEXT: %[[VIEW2:.*]] = edge.view_copy %[[SUM]] {size = [2, 1]}
// CHECK-NEXT: %[[DIV:.*]] = edge.div.Scalar %[[VIEW2]] {other = 3.0}
// CHECK-NEXT: %[[SUB:.*]] = edge.sub.Tensor %x, %[[DIV]]
// CHECK-NEXT: %[[MUL:.*]] = edge.mul.Tensor %[[SUB]], %[[SUB]]
// CHECK-NEXT: %[[VIEW3:.*]] = edge.view_copy %[[MUL]] {size = [2, 3, 1]}
// CHECK-NEXT: %[[SUM2:.*]] = edge.sum.dim_IntList %[[VIEW3]] {dim = [1, 2], keepdim = true}
// CHECK-NEXT: %[[VIEW4:.*]] = edge.view_copy %[[SUM2]] {size = [2, 1]}
// CHECK-NEXT: %[[DIV2:.*]] = edge.div.Scalar %[[VIEW4]] {other = 3.0}
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Scalar %[[DIV2]] {other = 1.0e-05}
// CHECK-NEXT: %[[SQRT:.*]] = edge.sqrt %[[ADD]]
// CHECK-NEXT: %[[RECIPROCAL:.*]] = edge.reciprocal %[[SQRT]]
// CHECK-NEXT: %[[MUL2:.*]] = edge.mul.Tensor %[[SUB]], %[[RECIPROCAL]]
// CHECK-NEXT: %[[MUL3:.*]] = edge.mul.Tensor %[[MUL2]], %w
// CHECK-NEXT: func.return %[[MUL3]], %[[DIV]], %[[RECIPROCAL]]

// -----

func.func @layer_in_single(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0, %1, %2 = edge.native_layer_norm %x, none, none {normalized_shape = [3], eps = 1.0e-05} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @layer_in_single
// CHECK-NEXT: %[[NATIVE_LAYER_NORM:.*]], %[[NATIVE_LAYER_NORM2:.*]], %[[NATIVE_LAYER_NORM3:.*]] = edge.native_layer_norm %x {normalized_shape = [3], eps = 1.0e-05}
// CHECK-NEXT: func.return %[[NATIVE_LAYER_NORM]]

// -----

func.func @groups(%x: tensor<2x4x3xf64>, %b: tensor<4xf64>) -> tensor<2x4x3xf64> {
  %0, %1, %2 = edge.native_group_norm %x, none, %b {N = 2, C = 4, HxW = 3, group = 2, eps = 1.0e-05} : (tensor<2x4x3xf64>, tensor<4xf64>) -> (tensor<2x4x3xf64>, tensor<2x2xf64>, tensor<2x2xf64>)
  func.return %0 : tensor<2x4x3xf64>
}
// CHECK:      func.func @groups
// CHECK-NEXT: %[[VIEW:.*]] = edge.view_copy %x {size = [4, 6]}
// CHECK-NEXT: %[[VIEW2:.*]] = edge.view_copy %[[VIEW]] {size = [4, 6, 1]}
// CHECK-NEXT: %[[SUM:.*]] = edge.sum.dim_IntList %[[VIEW2]] {dim = [1, 2], keepdim = true}
// CHECK-NEXT: %[[VIEW3:.*]] = edge.view_copy %[[SUM]] {size = [4, 1]}
// CHECK-NEXT: %[[DIV:.*]] = edge.div.Scalar %[[VIEW3]] {other = 6.0}
// CHECK-NEXT: %[[SUB:.*]] = edge.sub.Tensor %[[VIEW]], %[[DIV]]
// CHECK-NEXT: %[[MUL:.*]] = edge.mul.Tensor %[[SUB]], %[[SUB]]
// CHECK-NEXT: %[[VIEW4:.*]] = edge.view_copy %[[MUL]] {size = [4, 6, 1]}
// CHECK-NEXT: %[[SUM2:.*]] = edge.sum.dim_IntList %[[VIEW4]] {dim = [1, 2], keepdim = true}
// CHECK-NEXT: %[[VIEW5:.*]] = edge.view_copy %[[SUM2]] {size = [4, 1]}
// CHECK-NEXT: %[[DIV2:.*]] = edge.div.Scalar %[[VIEW5]] {other = 6.0}
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Scalar %[[DIV2]] {other = 1.0e-05}
// CHECK-NEXT: %[[SQRT:.*]] = edge.sqrt %[[ADD]]
// CHECK-NEXT: %[[RECIPROCAL:.*]] = edge.reciprocal %[[SQRT]]
// CHECK-NEXT: %[[MUL2:.*]] = edge.mul.Tensor %[[SUB]], %[[RECIPROCAL]]
// CHECK-NEXT: %[[VIEW6:.*]] = edge.view_copy %[[MUL2]] {size = [2, 4, 3]}
// CHECK-NEXT: %[[VIEW7:.*]] = edge.view_copy %b {size = [4, 1]}
// CHECK-NEXT: %[[ADD2:.*]] = edge.add.Tensor %[[VIEW6]], %[[VIEW7]]
// CHECK-NEXT: func.return %[[ADD2]]

// -----

// Three squares and two products.
func.func @power(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0 = edge.pow.Tensor_Scalar %x {exponent = 11} : tensor<4xi32>
  %1 = edge.pow.Tensor_Scalar %y {exponent = 11} : tensor<4xf32>
  func.return %0, %1 : tensor<4xi32>, tensor<4xf32>
}
// CHECK:      func.func @power
// CHECK-NEXT: %[[MUL:.*]] = edge.mul.Tensor %x, %x
// CHECK-NEXT: %[[MUL2:.*]] = edge.mul.Tensor %x, %[[MUL]]
// CHECK-NEXT: %[[MUL3:.*]] = edge.mul.Tensor %[[MUL]], %[[MUL]]
// CHECK-NEXT: %[[MUL4:.*]] = edge.mul.Tensor %[[MUL3]], %[[MUL3]]
// CHECK-NEXT: %[[MUL5:.*]] = edge.mul.Tensor %[[MUL2]], %[[MUL4]]
// CHECK-NEXT: %[[POW:.*]] = edge.pow.Tensor_Scalar %y {exponent = 11}
// CHECK-NEXT: func.return %[[MUL5]], %[[POW]]
