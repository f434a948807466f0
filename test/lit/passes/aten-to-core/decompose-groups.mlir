// RUN: et-opt -p decompose --split-input-file %s | filecheck %s
// RUN: et-opt -p 'decompose{preserve="grouped.linear"}' --split-input-file %s | filecheck %s --check-prefix=KEPT

// Few rows: each is multiplied with a copy of the matrix of its group, if it has one.
func.func @few(%x: tensor<2x3xf32>, %w: tensor<8x3xf32>, %ends: tensor<2xi32>) -> tensor<2x4xf32> {
  %0 = aten.grouped.linear %x, %w, %ends : (tensor<2x3xf32>, tensor<8x3xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @few
// CHECK:      %[[BEHIND:.*]] = aten.ge.Tensor
// CHECK:      %[[GROUP:.*]] = aten.sum.dim_IntList %[[BEHIND]]
// CHECK:      %[[CHOSEN:.*]] = aten.index_select %{{.*}}, %{{.*}} {dim = 0} : (tensor<2x4x3xf32>, tensor<2xi64>) -> tensor<2x4x3xf32>
// CHECK:      aten.bmm %[[CHOSEN]]
// CHECK:      aten.lt.Scalar %[[GROUP]] {other = 2}
// CHECK:      aten.where.self
// KEPT-LABEL: func.func @few
// KEPT-NEXT: aten.grouped.linear
// KEPT-NEXT: func.return

// -----

// Many: all are multiplied with each matrix, and those before the end of a group are kept, from the last group on.
func.func @many(%x: tensor<5x3xf32>, %w: tensor<8x3xf32>, %ends: tensor<2xi64>) -> tensor<5x4xf32> {
  %0 = aten.grouped.linear %x, %w, %ends : (tensor<5x3xf32>, tensor<8x3xf32>, tensor<2xi64>) -> tensor<5x4xf32>
  func.return %0 : tensor<5x4xf32>
}
// CHECK-LABEL: func.func @many
// CHECK:      aten.select.int %{{.*}} {dim = 0, index = 1} : (tensor<2x4x3xf32>) -> tensor<4x3xf32>
// CHECK:      aten.mm
// CHECK:      aten.where.self
// CHECK:      aten.select.int %{{.*}} {dim = 0, index = 0} : (tensor<2x4x3xf32>) -> tensor<4x3xf32>
// CHECK:      aten.mm
// CHECK:      aten.where.self
// CHECK-NOT:  aten.grouped.linear
