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
  %0 = aten.exponential %x {lambd = 2.0} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %[[RAND]]
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %[[NEG]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[LOG1P]] {other = -0.5}
// CHECK-NEXT: func.return %[[MUL]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.geometric %x {p = 0.5} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %[[RAND]]
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %[[NEG]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[LOG1P]] {other = -1.4426950408889634}
// CHECK-NEXT: %[[FLOOR:.*]] = aten.floor %[[MUL]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[FLOOR]] {other = 1}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.cauchy %x {median = 1.0, sigma = 2.0} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Scalar %[[RAND]] {other = 0.5}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[SUB]] {other = 3.141592653589793}
// CHECK-NEXT: %[[TAN:.*]] = aten.tan %[[MUL]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[TAN]] {other = 2.0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL2]] {other = 1.0}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.log_normal %x {mean = 1.0, std = 2.0} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDN:.*]] = aten.randn {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RANDN]] {other = 2.0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = 1.0}
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[ADD]]
// CHECK-NEXT: func.return %[[EXP]]

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

// Channels as a whole.
func.func @forward(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %0 = aten.feature_dropout %x {p = 0.5, train = true} : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  func.return %0 : tensor<2x3x4x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [2, 3, 1, 1], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[RAND]] {other = 0.5}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[LT]] {dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[TO_COPY]] {other = 2.0}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %x, %[[MUL]]
// CHECK-NEXT: func.return %[[MUL2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.alpha_dropout %x {p = 0.5, train = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[RAND]] {other = 0.5}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[LT]] {dtype = f32}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Scalar %[[TO_COPY]] {other = 0.5}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[SUB]] {other = 1.558387861036063}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[TO_COPY]] {other = 0.8864048946659319}
// CHECK-NEXT: %[[MUL3:.*]] = aten.mul.Tensor %x, %[[MUL2]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MUL3]], %[[MUL]]
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.rrelu %x {lower = 0.125, upper = 0.375, training = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [3, 4], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RAND]] {other = 0.25}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = 0.125}
// CHECK-NEXT: %[[LE:.*]] = aten.le.Scalar %x {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LE]], %[[ADD]], %[[FULL]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %x, %[[WHERE]]
// CHECK-NEXT: func.return %[[MUL2]]

// -----

// Not in training, the factor is fixed.
func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.rrelu %x {lower = 0.125, upper = 0.375, training = false} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LEAKY_RELU:.*]] = aten.leaky_relu %x {negative_slope = 0.25}
// CHECK-NEXT: func.return %[[LEAKY_RELU]]

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

func.func @forward() -> tensor<3xf32> {
  %0 = aten.normal.float_float {mean = 1.0, std = 2.0, size = [3]} : () -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDN:.*]] = aten.randn {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RANDN]] {other = 2.0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = 1.0}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%mean: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.normal.Tensor_float %mean {std = 2.0} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDN:.*]] = aten.randn {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[RANDN]] {other = 2.0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MUL]], %mean
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%std: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.normal.float_Tensor %std {mean = 3.0} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDN:.*]] = aten.randn {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[RANDN]], %std
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MUL]] {other = 3.0}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%mean: tensor<3xf32>, %std: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.normal.Tensor_Tensor %mean, %std : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RANDN:.*]] = aten.randn {size = [3], dtype = f32}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[RANDN]], %std
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MUL]], %mean
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = aten.feature_alpha_dropout %x {p = 0.5, train = true} : tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [2, 3, 1], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[RAND]] {other = 0.5}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[LT]] {dtype = f32}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Scalar %[[TO_COPY]] {other = 0.5}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[SUB]] {other = 1.558387861036063}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[TO_COPY]] {other = 0.8864048946659319}
// CHECK-NEXT: %[[MUL3:.*]] = aten.mul.Tensor %x, %[[MUL2]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MUL3]], %[[MUL]]
// CHECK-NEXT: func.return %[[ADD]]

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
