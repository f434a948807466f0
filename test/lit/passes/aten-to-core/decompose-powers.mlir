// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Pointwise arithmetic beyond that of Core ATen.

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xi64>) -> tensor<3xf32> {
  %0 = aten.rsub.Scalar %x {other = 2} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LITERAL:.*]] = program.literal 2 : i64
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %[[LITERAL]], %x : (i64, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %[[SUB]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.exp2 %x : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[POW:.*]] = aten.pow.Scalar %x {self = 2.0} : tensor<3xf32>
// CHECK-NEXT: func.return %[[POW]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.logit %x {eps = 0.25} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CLAMP:.*]] = aten.clamp %x {min = 0.25, max = 0.75}
// CHECK-NEXT: %[[NUMBER:.*]] = program.literal 1
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %[[NUMBER]], %[[CLAMP]]
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[CLAMP]], %[[SUB]]
// CHECK-NEXT: %[[LOG:.*]] = aten.log %[[DIV]]
// CHECK-NEXT: func.return %[[LOG]]

// -----

// Infinities of one sign have no difference.
func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.logaddexp %x, %y : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MAXIMUM:.*]] = aten.maximum %x, %y
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[SUB]]
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %[[ABS]]
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[NEG]]
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %[[EXP]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MAXIMUM]], %[[LOG1P]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Tensor %x, %y
// CHECK-NEXT: %[[ISINF:.*]] = aten.isinf %x
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ]], %[[ISINF]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LOGICAL_AND]], %[[MAXIMUM]], %[[ADD]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = aten.floor_divide %x, %y : tensor<3xf32>
  %1 = aten.floor_divide.Scalar %x {other = 2} : tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor_mode %x, %y {rounding_mode = "floor"}
// CHECK-NEXT: %[[DIV2:.*]] = aten.div.Scalar_mode %x {other = 2, rounding_mode = "floor"}
// CHECK-NEXT: func.return %[[DIV]], %[[DIV2]]

// -----

// Others have the surprises of the machine.
func.func @forward(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.bitwise_left_shift.Tensor_Scalar %x {other = 64} : tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_LEFT_SHIFT:.*]] = aten.bitwise_left_shift.Tensor_Scalar %x {other = 64}
// CHECK-NEXT: func.return %[[BITWISE_LEFT_SHIFT]]

// -----

func.func @forward(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.bitwise_right_shift.Tensor_Scalar %x {other = -1} : tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BITWISE_RIGHT_SHIFT:.*]] = aten.bitwise_right_shift.Tensor_Scalar %x {other = -1}
// CHECK-NEXT: func.return %[[BITWISE_RIGHT_SHIFT]]

// -----

// Nothing to do.
func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %1 = aten.detach %x : tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: func.return %x

// -----

// Complex numbers have a sigmoid of their own, which kernels lack.
func.func @forward(%x: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %0 = aten.silu %x : tensor<3xcomplex<f32>>
  func.return %0 : tensor<3xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SILU:.*]] = aten.silu %x
// CHECK-NEXT: func.return %[[SILU]]
