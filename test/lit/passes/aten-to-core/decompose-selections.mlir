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

// Integers are no NaN and have no infinities.
func.func @forward(%x: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
  %0 = aten.nan_to_num %x : tensor<3xi64>
  %1 = aten.isfinite %x : (tensor<3xi64>) -> tensor<3xi1>
  %2 = aten.isposinf %x : (tensor<3xi64>) -> tensor<3xi1>
  %3 = aten.isneginf %x : (tensor<3xi64>) -> tensor<3xi1>
  func.return %0, %1, %2, %3 : tensor<3xi64>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [3], fill_value = true, dtype = i1}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [3], fill_value = false, dtype = i1}
// CHECK-NEXT: %[[FULL3:.*]] = aten.full {size = [3], fill_value = false, dtype = i1}
// CHECK-NEXT: func.return %x, %[[FULL]], %[[FULL2]], %[[FULL3]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.nan_to_num %x {nan = 1.0} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %x
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1.0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[ISNAN]], %[[FULL]], %x
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = inf}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = 3.4028234663852886e+38, dtype = f32}
// CHECK-NEXT: %[[WHERE2:.*]] = aten.where.self %[[EQ]], %[[FULL2]], %[[WHERE]]
// CHECK-NEXT: %[[EQ2:.*]] = aten.eq.Scalar %x {other = -inf}
// CHECK-NEXT: %[[FULL3:.*]] = aten.full {size = [], fill_value = -3.4028234663852886e+38, dtype = f32}
// CHECK-NEXT: %[[WHERE3:.*]] = aten.where.self %[[EQ2]], %[[FULL3]], %[[WHERE2]]
// CHECK-NEXT: func.return %[[WHERE3]]

// -----

func.func @forward(%x: tensor<3xf32>) -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
  %0 = aten.isfinite %x : (tensor<3xf32>) -> tensor<3xi1>
  %1 = aten.isposinf %x : (tensor<3xf32>) -> tensor<3xi1>
  %2 = aten.isneginf %x : (tensor<3xf32>) -> tensor<3xi1>
  func.return %0, %1, %2 : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ISINF:.*]] = aten.isinf %x
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %x
// CHECK-NEXT: %[[LOGICAL_OR:.*]] = aten.logical_or %[[ISINF]], %[[ISNAN]]
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[LOGICAL_OR]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = inf}
// CHECK-NEXT: %[[EQ2:.*]] = aten.eq.Scalar %x {other = -inf}
// CHECK-NEXT: func.return %[[LOGICAL_NOT]], %[[EQ]], %[[EQ2]]

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xi1> {
  %0 = aten.isclose %x, %y {rtol = 0.001, atol = 1.0e-05, equal_nan = true} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %y {other = 0.001}
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[MUL]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[ABS]] {other = 1.0e-05}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: %[[ABS2:.*]] = aten.abs %[[SUB]]
// CHECK-NEXT: %[[LE:.*]] = aten.le.Tensor %[[ABS2]], %[[ADD]]
// CHECK-NEXT: %[[ISINF:.*]] = aten.isinf %[[ABS2]]
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %[[ABS2]]
// CHECK-NEXT: %[[LOGICAL_OR:.*]] = aten.logical_or %[[ISINF]], %[[ISNAN]]
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[LOGICAL_OR]]
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[LE]], %[[LOGICAL_NOT]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Tensor %x, %y
// CHECK-NEXT: %[[LOGICAL_OR2:.*]] = aten.logical_or %[[EQ]], %[[LOGICAL_AND]]
// CHECK-NEXT: %[[ISNAN2:.*]] = aten.isnan %x
// CHECK-NEXT: %[[ISNAN3:.*]] = aten.isnan %y
// CHECK-NEXT: %[[LOGICAL_AND2:.*]] = aten.logical_and %[[ISNAN2]], %[[ISNAN3]]
// CHECK-NEXT: %[[LOGICAL_OR3:.*]] = aten.logical_or %[[LOGICAL_OR2]], %[[LOGICAL_AND2]]
// CHECK-NEXT: func.return %[[LOGICAL_OR3]]

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

// -----

func.func @forward(%elements: tensor<3xi64>) -> tensor<3xi1> {
  %0 = aten.isin.Tensor_Scalar %elements {test_element = 2} : (tensor<3xi64>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %elements {other = 2}
// CHECK-NEXT: func.return %[[EQ]]
