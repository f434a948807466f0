// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = aten.fmax %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FIRST:.*]] = aten.ge.Tensor %x, %y
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[FIRST]], %x, %y
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %y
// CHECK-NEXT: %[[WHERE2:.*]] = aten.where.self %[[ISNAN]], %x, %[[WHERE]]
// CHECK-NEXT: func.return %[[WHERE2]]

// -----

func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.fmin %x, %y : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MINIMUM:.*]] = aten.minimum %x, %y
// CHECK-NEXT: func.return %[[MINIMUM]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xi1> {
  %0 = aten.signbit %x : (tensor<3x4xf32>) -> tensor<3x4xi1>
  func.return %0 : tensor<3x4xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %x {other = 0}
// CHECK-NEXT: %[[RECIPROCAL:.*]] = aten.reciprocal %x
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %[[RECIPROCAL]] {other = -inf}
// CHECK-NEXT: %[[EQ2:.*]] = aten.eq.Scalar %x {other = 0}
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ2]], %[[EQ]]
// CHECK-NEXT: %[[LOGICAL_OR:.*]] = aten.logical_or %[[LT]], %[[LOGICAL_AND]]
// CHECK-NEXT: func.return %[[LOGICAL_OR]]

// -----

func.func @forward(%x: tensor<3x4xi64>) -> tensor<3x4xi1> {
  %0 = aten.signbit %x : (tensor<3x4xi64>) -> tensor<3x4xi1>
  func.return %0 : tensor<3x4xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %x {other = 0}
// CHECK-NEXT: func.return %[[LT]]

// -----

func.func @forward(%x: tensor<3x4xi64>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.copysign.Tensor %x, %y : (tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[TO_COPY]]
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %y {other = 0}
// CHECK-NEXT: %[[RECIPROCAL:.*]] = aten.reciprocal %y
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %[[RECIPROCAL]] {other = -inf}
// CHECK-NEXT: %[[EQ2:.*]] = aten.eq.Scalar %y {other = 0}
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ2]], %[[EQ]]
// CHECK-NEXT: %[[LOGICAL_OR:.*]] = aten.logical_or %[[LT]], %[[LOGICAL_AND]]
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %[[ABS]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LOGICAL_OR]], %[[NEG]], %[[ABS]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.hypot %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %x
// CHECK-NEXT: %[[ABS2:.*]] = aten.abs %y
// CHECK-NEXT: %[[MAXIMUM:.*]] = aten.maximum %[[ABS]], %[[ABS2]]
// CHECK-NEXT: %[[MINIMUM:.*]] = aten.minimum %[[ABS]], %[[ABS2]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %[[MAXIMUM]] {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[MINIMUM]], %[[MAXIMUM]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %[[FULL]], %[[DIV]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[WHERE]], %[[WHERE]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = 1}
// CHECK-NEXT: %[[SQRT:.*]] = aten.sqrt %[[ADD]]
// CHECK-NEXT: %[[ISINF:.*]] = aten.isinf %[[ABS]]
// CHECK-NEXT: %[[ISINF2:.*]] = aten.isinf %[[ABS2]]
// CHECK-NEXT: %[[LOGICAL_OR:.*]] = aten.logical_or %[[ISINF]], %[[ISINF2]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %[[MAXIMUM]], %[[SQRT]]
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = inf, dtype = f32}
// CHECK-NEXT: %[[WHERE2:.*]] = aten.where.self %[[LOGICAL_OR]], %[[FULL2]], %[[MUL2]]
// CHECK-NEXT: func.return %[[WHERE2]]

// -----

func.func @forward(%x: tensor<1xf32>) -> f64 {
  %0 = aten.item %x : (tensor<1xf32>) -> f64
  func.return %0 : f64
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOCAL_SCALAR_DENSE:.*]] = aten._local_scalar_dense %x
// CHECK-NEXT: func.return %[[LOCAL_SCALAR_DENSE]]

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> i1 {
  %0 = aten.equal %x, %y : (tensor<3xf32>, tensor<3xf32>) -> i1
  func.return %0 : i1
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NE:.*]] = aten.ne.Tensor %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
// CHECK-NEXT: %[[ANY:.*]] = aten.any %[[NE]] : (tensor<3xi1>) -> tensor<i1>
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ANY]] : tensor<i1>
// CHECK-NEXT: %[[LOCAL_SCALAR_DENSE:.*]] = aten._local_scalar_dense %[[LOGICAL_NOT]] : (tensor<i1>) -> i1
// CHECK-NEXT: func.return %[[LOCAL_SCALAR_DENSE]]
