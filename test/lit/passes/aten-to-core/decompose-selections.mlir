// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Selections and predicates.

func.func @forward(%x: tensor<3xf32>, %min: tensor<3xf32>, %max: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.clamp_max %x {max = 0.5} : tensor<3xf32>
  %1 = aten.clamp_min.Tensor %x, %min : tensor<3xf32>
  %2 = aten.clamp_max.Tensor %x, %max : tensor<3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CLAMP:.*]] = aten.clamp %x {max = 0.5}
// CHECK-NEXT: %[[MAXIMUM:.*]] = aten.maximum %x, %min
// CHECK-NEXT: %[[MINIMUM:.*]] = aten.minimum %x, %max
// CHECK-NEXT: func.return %[[CLAMP]], %[[MAXIMUM]], %[[MINIMUM]]

// -----

// Numbers become tensors of the result's type.
func.func @forward(%condition: tensor<3xi1>) -> tensor<3xf32> {
  %0 = aten.where.Scalar %condition {self = 1.0, other = 2.0} : (tensor<3xi1>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1.0, dtype = f32}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = 2.0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %condition, %[[FULL]], %[[FULL2]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%condition: tensor<3xi1>, %y: tensor<3xi64>) -> tensor<3xf32> {
  %0 = aten.where.ScalarSelf %condition, %y {self = 2.5} : (tensor<3xi1>, tensor<3xi64>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 2.5, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %condition, %[[FULL]], %y
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<2x3xf32>, %mask: tensor<3xi1>, %value: tensor<f64>) -> tensor<2x3xf32> {
  %0 = aten.masked_fill.Tensor %x, %mask, %value : (tensor<2x3xf32>, tensor<3xi1>, tensor<f64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %value {dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %mask, %[[TO_COPY]], %x
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xf32>, %values: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.heaviside %x, %values : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Scalar %x {other = 0}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[GT]] {dtype = f32}
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = 0}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %values, %[[TO_COPY]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// Among elements.
func.func @forward(%elements: tensor<3xi64>, %test_elements: tensor<5xi64>) -> tensor<3xi1> {
  %0 = aten.isin.Tensor_Tensor %elements, %test_elements {invert = true} : (tensor<3xi64>, tensor<5xi64>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %elements {dim = -1}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %test_elements {size = [-1]}
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Tensor %[[UNSQUEEZE]], %[[VIEW]]
// CHECK-NEXT: %[[ANY:.*]] = aten.any.dim %[[EQ]] {dim = -1}
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ANY]]
// CHECK-NEXT: func.return %[[LOGICAL_NOT]]
