// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

// What kernels are narrower in than torch.

// Integers and a float.

// Integers and a float.
func.func @forward(%x: tensor<3xi64>) -> tensor<3xf32> {
  %0 = aten.add.Scalar %x {other = 0.5} : (tensor<3xi64>) -> tensor<3xf32>
  %1 = aten.sub.Scalar %x {other = 0.5} : (tensor<3xi64>) -> tensor<3xf32>
  %2 = aten.add.Tensor %0, %1 : tensor<3xf32>
  func.return %2 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FLOATS:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[FLOATS]] {other = 0.5}
// CHECK-NEXT: %[[FLOATS2:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Scalar %[[FLOATS2]] {other = 0.5}
// CHECK-NEXT: aten.add.Tensor %[[ADD]], %[[SUB]]

// -----

func.func @forward(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.add.Scalar %x {other = 2} : (tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %x {other = 2}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x7xf32> {
  %0 = aten.constant_pad_nd %x {pad = [1, 2]} : (tensor<3x4xf32>) -> tensor<3x7xf32>
  func.return %0 : tensor<3x7xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = aten.constant_pad_nd %x {pad = [1, 2]}
// CHECK-NEXT: func.return %[[CONSTANT_PAD_ND]]

// -----

// Factors of integers are integers.
func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>, %z: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.addcmul %x, %y, %z {value = 3.5} : (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %y, %z
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %x, %[[MUL]] {alpha = 3}
// CHECK-NEXT: func.return %[[ADD]]

// -----

// Sixteen bits are computed in thirty-two.
func.func @forward(%x: tensor<3xbf16>, %y: tensor<3xbf16>, %z: tensor<3xbf16>) -> tensor<3xbf16> {
  %0 = aten.addcdiv %x, %y, %z {value = 3.5} : (tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  func.return %0 : tensor<3xbf16>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %y {dtype = f32}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %z {dtype = f32}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[TO_COPY]], %[[TO_COPY2]]
// CHECK-NEXT: %[[TO_COPY3:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[TO_COPY3]], %[[DIV]] {alpha = 3.5}
// CHECK-NEXT: %[[TO_COPY4:.*]] = aten._to_copy %[[ADD]] {dtype = bf16}
// CHECK-NEXT: func.return %[[TO_COPY4]]

// -----

func.func @forward(%x: tensor<f32>) -> tensor<5xf32> {
  %0 = aten.linspace.Tensor_Scalar %x {end = 2, steps = 5} : (tensor<f32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 2, dtype = f32}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %[[FULL]], %x
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar %[[SUB]] {other = 4}
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 5, dtype = f32}
// CHECK-NEXT: %[[LITERAL:.*]] = program.literal 4
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Tensor %[[LITERAL]], %[[ARANGE]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[ARANGE]], %[[DIV]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %x, %[[MUL]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %[[SUB2]], %[[DIV]]
// CHECK-NEXT: %[[SUB3:.*]] = aten.sub.Tensor %[[FULL]], %[[MUL2]]
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[ARANGE]] {other = 2}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[ADD]], %[[SUB3]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// A split into more than a few hundred parts stays one operator.
func.func @forward(%x: tensor<300xf32>) -> tensor<44850x2xf32> {
  %0 = aten.combinations %x : (tensor<300xf32>) -> tensor<44850x2xf32>
  func.return %0 : tensor<44850x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[COMBINATIONS:.*]] = aten.combinations %x
// CHECK-NEXT: func.return %[[COMBINATIONS]]
