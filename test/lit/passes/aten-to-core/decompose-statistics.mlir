// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Reductions of several steps.

func.func @forward(%x: tensor<3x4xf32>) -> tensor<f32> {
  %0 = aten.trace %x : (tensor<3x4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[DIAGONAL:.*]] = aten.diagonal %x
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[DIAGONAL]] {dim = []}
// CHECK-NEXT: func.return %[[SUM]]

// -----

func.func @forward(%x: tensor<2x3xf32>, %y: tensor<2x3xi64>) -> (tensor<2xf32>, tensor<2xi64>) {
  %0 = aten.nansum %x {dim = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  %1 = aten.nansum %y {dim = [1]} : (tensor<2x3xi64>) -> tensor<2xi64>
  func.return %0, %1 : tensor<2xf32>, tensor<2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %x
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[ISNAN]], %[[FULL]], %x
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[WHERE]] {dim = [1]}
// CHECK-NEXT: %[[SUM2:.*]] = aten.sum.dim_IntList %y {dim = [1]}
// CHECK-NEXT: func.return %[[SUM]], %[[SUM2]]

// -----

func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
  %0 = aten.nanmean %x {dim = [1], keepdim = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  func.return %0 : tensor<2x1xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %x
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ISNAN]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[LOGICAL_NOT]] {dim = [1], keepdim = true}
// CHECK-NEXT: %[[ISNAN2:.*]] = aten.isnan %x
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[ISNAN2]], %[[FULL]], %x
// CHECK-NEXT: %[[SUM2:.*]] = aten.sum.dim_IntList %[[WHERE]] {dim = [1], keepdim = true}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[SUM2]], %[[SUM]]
// CHECK-NEXT: func.return %[[DIV]]

// -----

func.func @forward(%x: tensor<2x3xi64>, %y: tensor<2x3xf32>) -> (tensor<i64>, tensor<2xf32>, tensor<2xf32>) {
  %0 = aten.min %x : (tensor<2x3xi64>) -> tensor<i64>
  %1, %2 = aten.aminmax %y {dim = 1} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %0, %1, %2 : tensor<i64>, tensor<2xf32>, tensor<2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AMIN:.*]] = aten.amin %x
// CHECK-NEXT: %[[AMIN2:.*]] = aten.amin %y {dim = [1]}
// CHECK-NEXT: %[[AMAX:.*]] = aten.amax %y {dim = [1]}
// CHECK-NEXT: func.return %[[AMIN]], %[[AMIN2]], %[[AMAX]]

// -----

func.func @forward(%x: tensor<2x3xi1>) -> tensor<1x1xi1> {
  %0 = aten.all.dims %x {dim = [0, 1], keepdim = true} : (tensor<2x3xi1>) -> tensor<1x1xi1>
  func.return %0 : tensor<1x1xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %x
// CHECK-NEXT: %[[ANY:.*]] = aten.any.dims %[[LOGICAL_NOT]] {dim = [0, 1], keepdim = true}
// CHECK-NEXT: %[[LOGICAL_NOT2:.*]] = aten.logical_not %[[ANY]]
// CHECK-NEXT: func.return %[[LOGICAL_NOT2]]

// -----

func.func @forward(%x: tensor<2x3xf32>, %y: tensor<2x3xi1>) -> (tensor<2xi64>, tensor<i64>) {
  %0 = aten.count_nonzero %x {dim = 1} : (tensor<2x3xf32>) -> tensor<2xi64>
  %1 = aten.count_nonzero.dim_IntList %y {dim = [0, 1]} : (tensor<2x3xi1>) -> tensor<i64>
  func.return %0, %1 : tensor<2xi64>, tensor<i64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NE:.*]] = aten.ne.Scalar %x {other = 0}
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[NE]] {dim = [1]}
// CHECK-NEXT: %[[SUM2:.*]] = aten.sum.dim_IntList %y {dim = [0, 1]}
// CHECK-NEXT: func.return %[[SUM]], %[[SUM2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>) {
  %0 = aten.var %x : (tensor<3x4xf32>) -> tensor<f32>
  %1 = aten.std %x {unbiased = false} : (tensor<3x4xf32>) -> tensor<f32>
  %2 = aten.std.correction %x {dim = [0], correction = 2} : (tensor<3x4xf32>) -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VAR:.*]] = aten.var.correction %x {correction = 1}
// CHECK-NEXT: %[[VAR2:.*]] = aten.var.correction %x {correction = 0}
// CHECK-NEXT: %[[SQRT:.*]] = aten.sqrt %[[VAR2]]
// CHECK-NEXT: %[[VAR3:.*]] = aten.var.correction %x {dim = [0], correction = 2}
// CHECK-NEXT: %[[SQRT2:.*]] = aten.sqrt %[[VAR3]]
// CHECK-NEXT: func.return %[[VAR]], %[[SQRT]], %[[SQRT2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0, %1 = aten.var_mean %x : (tensor<3x4xf32>) -> (tensor<f32>, tensor<f32>)
  %2, %3 = aten.std_mean %x {unbiased = false} : (tensor<3x4xf32>) -> (tensor<f32>, tensor<f32>)
  func.return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VAR:.*]] = aten.var.correction %x {correction = 1}
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %x
// CHECK-NEXT: %[[VAR2:.*]] = aten.var.correction %x {correction = 0}
// CHECK-NEXT: %[[SQRT:.*]] = aten.sqrt %[[VAR2]]
// CHECK-NEXT: %[[MEAN2:.*]] = aten.mean.dim %x
// CHECK-NEXT: func.return %[[VAR]], %[[MEAN]], %[[SQRT]], %[[MEAN2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = aten.var_mean.dim %x {dim = [1], keepdim = true} : (tensor<3x4xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>)
  %2, %3 = aten.var_mean.correction %x {dim = [0], correction = 2} : (tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %4, %5 = aten.std_mean.correction %x {dim = [0], correction = 0} : (tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return %0, %1, %2, %3, %4, %5 : tensor<3x1xf32>, tensor<3x1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VAR:.*]] = aten.var.correction %x {dim = [1], correction = 1, keepdim = true}
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %x {dim = [1], keepdim = true}
// CHECK-NEXT: %[[VAR2:.*]] = aten.var.correction %x {dim = [0], correction = 2}
// CHECK-NEXT: %[[MEAN2:.*]] = aten.mean.dim %x {dim = [0]}
// CHECK-NEXT: %[[VAR3:.*]] = aten.var.correction %x {dim = [0], correction = 0}
// CHECK-NEXT: %[[SQRT:.*]] = aten.sqrt %[[VAR3]]
// CHECK-NEXT: %[[MEAN3:.*]] = aten.mean.dim %x {dim = [0]}
// CHECK-NEXT: func.return %[[VAR]], %[[MEAN]], %[[VAR2]], %[[MEAN2]], %[[SQRT]], %[[MEAN3]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> (tensor<f32>, tensor<3x1xf32>) {
  %0 = aten.norm.Scalar %x {p = 1} : (tensor<3x4xf32>) -> tensor<f32>
  %1 = aten.norm.ScalarOpt_dim %x {dim = [1], keepdim = true} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  func.return %0, %1 : tensor<f32>, tensor<3x1xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %x
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[ABS]] {dim = []}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %x
// CHECK-NEXT: %[[SUM2:.*]] = aten.sum.dim_IntList %[[MUL]] {dim = [1], keepdim = true}
// CHECK-NEXT: %[[SQRT:.*]] = aten.sqrt %[[SUM2]]
// CHECK-NEXT: func.return %[[SUM]], %[[SQRT]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> (tensor<f64>, tensor<4xf64>) {
  %0 = aten.norm.ScalarOpt_dtype %x {p = inf, dtype = f64} : (tensor<3x4xf32>) -> tensor<f64>
  %1 = aten.norm.ScalarOpt_dim_dtype %x {p = 0, dim = [0], keepdim = false, dtype = f64} : (tensor<3x4xf32>) -> tensor<4xf64>
  func.return %0, %1 : tensor<f64>, tensor<4xf64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f64}
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[TO_COPY]]
// CHECK-NEXT: %[[AMAX:.*]] = aten.amax %[[ABS]]
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %x {dtype = f64}
// CHECK-NEXT: %[[NE:.*]] = aten.ne.Scalar %[[TO_COPY2]] {other = 0}
// CHECK-NEXT: %[[TO_COPY3:.*]] = aten._to_copy %[[NE]] {dtype = f64}
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[TO_COPY3]] {dim = [0]}
// CHECK-NEXT: func.return %[[AMAX]], %[[SUM]]
