// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = aten.sum %x : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %x {dim = []} : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %[[SUM]]

// -----

func.func @forward(%x: tensor<2xf32>) -> tensor<f32> {
  %0 = aten.max %x : (tensor<2xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AMAX:.*]] = aten.amax %x : (tensor<2xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %[[AMAX]]

// -----

// Norms of complex numbers are left to torch, core reductions stay.
func.func @forward(%x: tensor<3xcomplex<f32>>, %y: tensor<3xf32>) -> tensor<f32> {
  %1 = aten.mean %y : (tensor<3xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean %y : (tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %[[MEAN]]
