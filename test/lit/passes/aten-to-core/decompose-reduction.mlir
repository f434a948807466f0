// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<2x3xf32>) -> (tensor<f32>, tensor<2xf32>) {
  %0 = aten.sum %x : (tensor<2x3xf32>) -> tensor<f32>
  %1 = aten.std.dim %x {dim = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<f32>, tensor<2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %x {dim = []} : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: %[[VAR:.*]] = aten.var.correction %x {dim = [1], correction = 1} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[SQRT:.*]] = aten.sqrt %[[VAR]]
// CHECK-NEXT: func.return %[[SUM]], %[[SQRT]]

// -----

func.func @forward(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %0 = aten.logsumexp %x {dim = [-1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  %1 = aten.max %0 : (tensor<2xf32>) -> tensor<f32>
  func.return %0, %1 : tensor<2xf32>, tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AMAX:.*]] = aten.amax %x {dim = [1], keepdim = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[AMAX]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %[[ABS]] {other = inf} : (tensor<2x1xf32>) -> tensor<2x1xi1>
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %[[FULL]], %[[AMAX]] : (tensor<2x1xi1>, tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %[[WHERE]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[SUB]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[EXP]] {dim = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[WHERE]] {dim = [1]} : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[LOG:.*]] = aten.log %[[SUM]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[LOG]], %[[SQUEEZE]]
// CHECK-NEXT: %[[AMAX2:.*]] = aten.amax %[[ADD]] : (tensor<2xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %[[ADD]], %[[AMAX2]]

// -----

// Norms of complex numbers are left to torch, core reductions stay.
func.func @forward(%x: tensor<3xcomplex<f32>>, %y: tensor<3xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = aten.linalg_vector_norm %x : (tensor<3xcomplex<f32>>) -> tensor<f32>
  %1 = aten.mean %y : (tensor<3xf32>) -> tensor<f32>
  func.return %0, %1 : tensor<f32>, tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LINALG_VECTOR_NORM:.*]] = aten.linalg_vector_norm %x : (tensor<3xcomplex<f32>>) -> tensor<f32>
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean %y : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %[[LINALG_VECTOR_NORM]], %[[MEAN]]
