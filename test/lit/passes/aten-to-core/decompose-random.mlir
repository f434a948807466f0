// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.rand_like %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: func.return %[[RAND]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.randn_like %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDN:.*]] = aten.randn {size = [3, 4], dtype = f32}
// CHECK-NEXT: func.return %[[RANDN]]

// -----

func.func @forward() -> tensor<4xi64> {
  %0 = aten.randint.low {low = -3, high = 5, size = [4], dtype = i64} : () -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [4], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 8.0}
// CHECK-NEXT: %[[FLOOR:.*]] = aten.floor %[[MUL]]
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[FLOOR]] {dtype = i64}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[TO_COPY]] {other = -3}
// CHECK-NEXT: func.return %[[ADD]]

// -----

// A range that 24 bits are too coarse for is drawn in f64.
func.func @forward() -> tensor<4xi64> {
  %0 = aten.randint {high = 4294967296, size = [4], dtype = i64} : () -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [4], dtype = f64}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 4294967296.0}
// CHECK-NEXT: %[[FLOOR:.*]] = aten.floor %[[MUL]]
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[FLOOR]] {dtype = i64}
// CHECK-NEXT: func.return %[[TO_COPY]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.bernoulli %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Tensor %[[RAND]], %x
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[LT]] {dtype = f32}
// CHECK-NEXT: func.return %[[TO_COPY]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.bernoulli.p %x {p = 0.25} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[RAND]] {other = 0.25}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[LT]] {dtype = f32}
// CHECK-NEXT: func.return %[[TO_COPY]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.normal_functional %x {mean = 1.0, std = 2.0} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDN:.*]] = aten.randn {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RANDN]] {other = 2.0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = 1.0}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.uniform %x {from = -1.0, to = 2.0} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 3.0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = -1.0}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.dropout %x {p = 0.5, train = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[RAND]] {other = 0.5}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[LT]] {dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[TO_COPY]] {other = 2.0}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %x, %[[MUL]]
// CHECK-NEXT: func.return %[[MUL2]]

// -----

// A range without end stays.
func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.random.from %x {from = 3} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDOM:.*]] = aten.random.from %x {from = 3}
// CHECK-NEXT: func.return %[[RANDOM]]

// -----

// The parts of complex numbers have half the variance each.
func.func @forward(%x: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) {
  %0 = aten.randn_like %x : tensor<3xcomplex<f32>>
  %1 = aten.normal_functional %x {mean = 1.0, std = 2.0} : tensor<3xcomplex<f32>>
  func.return %0, %1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[N:.*]] = aten.randn {size = [3, 2], dtype = f32}
// CHECK-NEXT: %[[P:.*]] = aten.mul.Scalar %[[N]] {other = 0.7071067811865476
// CHECK-NEXT: %[[Z:.*]] = aten.view_as_complex_copy %[[P]]
// CHECK:      aten.view_as_complex_copy
// CHECK-NEXT: aten.mul.Scalar
// CHECK-NEXT: aten.add.Scalar

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xi64>) -> (tensor<3xf32>, tensor<3xi64>) {
  %0 = aten.randint_like %x {high = 9} : tensor<3xf32>
  %1 = aten.randint_like.low_dtype %y {low = -4, high = 9} : tensor<3xi64>
  func.return %0, %1 : tensor<3xf32>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 9.0}
// CHECK-NEXT: %[[FLOOR:.*]] = aten.floor %[[MUL]]
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[FLOOR]] {dtype = i64}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %[[TO_COPY]] {dtype = f32}
// CHECK-NEXT: %[[RAND2:.*]] = aten.rand {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[RAND2]] {other = 13.0}
// CHECK-NEXT: %[[FLOOR2:.*]] = aten.floor %[[MUL2]]
// CHECK-NEXT: %[[TO_COPY3:.*]] = aten._to_copy %[[FLOOR2]] {dtype = i64}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[TO_COPY3]] {other = -4}
// CHECK-NEXT: func.return %[[TO_COPY2]], %[[ADD]]

// -----

// All numbers that the type has.
func.func @forward(%x: tensor<9xi8>) -> tensor<9xi8> {
  %0 = aten.random %x : tensor<9xi8>
  func.return %0 : tensor<9xi8>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [9], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 128.0}
// CHECK-NEXT: %[[FLOOR:.*]] = aten.floor %[[MUL]]
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[FLOOR]] {dtype = i64}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %[[TO_COPY]] {dtype = i8}
// CHECK-NEXT: func.return %[[TO_COPY2]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.random.to %x {to = 5} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 5.0}
// CHECK-NEXT: %[[FLOOR:.*]] = aten.floor %[[MUL]]
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[FLOOR]] {dtype = i64}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %[[TO_COPY]] {dtype = f32}
// CHECK-NEXT: func.return %[[TO_COPY2]]

// -----

func.func @forward(%x: tensor<3x4xi64>, %p: tensor<3x4xf32>) -> tensor<3x4xi64> {
  %0 = aten.bernoulli.Tensor %x, %p : (tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<3x4xi64>
  func.return %0 : tensor<3x4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Tensor %[[RAND]], %p
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[LT]] {dtype = i64}
// CHECK-NEXT: func.return %[[TO_COPY]]

// -----

func.func @forward(%x: tensor<3xf32>, %noise: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1 = aten.rrelu_with_noise_functional %x, %noise {upper = 0.375, training = true} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 0.25}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = 0.125}
// CHECK-NEXT: %[[LE:.*]] = aten.le.Scalar %x {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LE]], %[[ADD]], %[[FULL]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %x, %[[WHERE]]
// CHECK-NEXT: func.return %[[MUL2]], %[[WHERE]]
