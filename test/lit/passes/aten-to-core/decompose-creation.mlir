// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// What does not depend on the elements of a tensor does not depend on the tensor.
func.func @forward(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xi64>) {
  %0 = aten.zeros_like %x : tensor<2x3xf32>
  %1 = aten.new_ones %x {size = [2], dtype = i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [2, 3], fill_value = 0, dtype = f32} : () -> tensor<2x3xf32>
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [2], fill_value = 1, dtype = i64} : () -> tensor<2xi64>
// CHECK-NEXT: func.return %[[FULL]], %[[FULL2]]

// -----

// It does where sizes are not known, or a layout is asked for.
func.func @forward(%x: tensor<?x3xf32>, %y: tensor<1x2x3x4xf32>) -> (tensor<?x3xf32>, tensor<1x2x3x4xf32>) {
  %0 = aten.ones_like %x : tensor<?x3xf32>
  %1 = aten.zeros_like %y {memory_format = "channels_last"} : tensor<1x2x3x4xf32>
  func.return %0, %1 : tensor<?x3xf32>, tensor<1x2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL_LIKE:.*]] = aten.full_like %x {fill_value = 1, dtype = f32}
// CHECK-NEXT: %[[FULL_LIKE2:.*]] = aten.full_like %y {fill_value = 0, dtype = f32, memory_format = "channels_last"}
// CHECK-NEXT: func.return %[[FULL_LIKE]], %[[FULL_LIKE2]]

// -----

func.func @forward() -> tensor<5xi64> {
  %0 = aten.arange {end = 5} : () -> tensor<5xi64>
  func.return %0 : tensor<5xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 5, dtype = i64} : () -> tensor<5xi64>
// CHECK-NEXT: func.return %[[ARANGE]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.tril %x {diagonal = 1} : tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 3, dtype = i64} : () -> tensor<3xi64>
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %[[ARANGE]] {dim = 1} : (tensor<3xi64>) -> tensor<3x1xi64>
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 4, dtype = i64} : () -> tensor<4xi64>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[UNSQUEEZE]] {other = 1}
// CHECK-NEXT: %[[LE:.*]] = aten.le.Tensor %[[ARANGE2]], %[[ADD]] : (tensor<4xi64>, tensor<3x1xi64>) -> tensor<3x4xi1>
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LE]], %x, %[[FULL]] : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// Of integers the ends are rounded first, and what is between them last.
func.func @forward() -> tensor<4xi64> {
  %0 = aten.linspace {start = 0.5, end = 9, steps = 4, dtype = i64} : () -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[INDEX:.*]] = aten.arange.start_step {start = 0, end = 4, dtype = f64} : () -> tensor<4xf64>
// CHECK-NEXT: %[[THREE:.*]] = program.literal 3 : i64
// CHECK-NEXT: %[[REST:.*]] = aten.sub.Tensor %[[THREE]], %[[INDEX]] : (i64, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[INDEX]] {other = 3.0}
// CHECK-NEXT: %[[FIRST:.*]] = aten.add.Scalar %[[MUL]] {other = 0}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[REST]] {other = 3.0}
// CHECK-NEXT: %[[NINE:.*]] = program.literal 9 : i64
// CHECK-NEXT: %[[LAST:.*]] = aten.sub.Tensor %[[NINE]], %[[MUL2]]
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[INDEX]] {other = 2}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[FIRST]], %[[LAST]]
// CHECK-NEXT: %[[TO:.*]] = aten._to_copy %[[WHERE]] {dtype = i64}
// CHECK-NEXT: func.return %[[TO]]

// -----

// Between complex numbers, by real indices.
func.func @forward(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = aten.linspace.Tensor_Tensor %a, %b {steps = 4, dtype = complex<f32>} : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
  func.return %0 : tensor<4xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.sub.Tensor %b, %a
// CHECK-NEXT: %[[S:.*]] = aten.div.Scalar
// CHECK-NEXT: %[[I:.*]] = aten.arange.start_step {start = 0, end = 4, dtype = f32}
// CHECK:      aten.mul.Tensor %[[I]], %[[S]]
// CHECK:      aten.where.self
