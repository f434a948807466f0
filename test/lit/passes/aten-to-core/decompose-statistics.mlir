// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Reductions of several steps.

func.func @forward(%x: tensor<2x3xi64>, %y: tensor<2x3xf32>) -> tensor<i64> {
  %0 = aten.min %x : (tensor<2x3xi64>) -> tensor<i64>
  func.return %0 : tensor<i64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AMIN:.*]] = aten.amin %x : (tensor<2x3xi64>) -> tensor<i64>
// CHECK-NEXT: func.return %[[AMIN]]

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
