// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %s: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.index_add %x, %i, %s {dim = 0, alpha = 2} : (tensor<3x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %s {other = 2}
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [%i], %[[MUL]] {accumulate = true} : (tensor<3x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[INDEX_PUT]]

// -----

// Indices broadcast to the tensor; negative ones count from the end.
func.func @forward(%x: tensor<3x4xf32>, %i: tensor<1x2xi64>) -> tensor<3x2xf32> {
  %0 = aten.take_along_dim %x, %i {dim = 1} : (tensor<3x4xf32>, tensor<1x2xi64>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %i {size = [3, 2]} : (tensor<1x2xi64>) -> tensor<3x2xi64>
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[EXPAND]] {other = 0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[EXPAND]] {other = 4}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[ADD]], %[[EXPAND]]
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %x, %[[WHERE]] {dim = 1} : (tensor<3x4xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %[[GATHER]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>) -> tensor<3x4xf32> {
  %0 = aten.index_fill.int_Scalar %x, %i {dim = 1, value = 7} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 7, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [none, %i], %[[FULL]] : (tensor<3x4xf32>, tensor<2xi64>, tensor<f32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[INDEX_PUT]]

// -----

// Core indexing stays.
func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  %0 = aten.index_select %x, %i {dim = 0} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[INDEX_SELECT:.*]] = aten.index_select %x, %i {dim = 0} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %[[INDEX_SELECT]]
