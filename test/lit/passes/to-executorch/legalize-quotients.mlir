// RUN: et-opt -p legalize --split-input-file %s | filecheck %s

// Remainders of i64 come from the quotient rounded down, by 1 where the divisor is -1.
func.func @forward(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
  %0 = edge.remainder.Tensor %x, %y : tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EQ:.*]] = edge.eq.Scalar %y {other = -1}
// CHECK-NEXT: %[[ONE:.*]] = edge.full {size = [], fill_value = 1, dtype = i64}
// CHECK-NEXT: %[[DIVISOR:.*]] = edge.where.self %[[EQ]], %[[ONE]], %y
// CHECK-NEXT: %[[FLOOR:.*]] = edge.div.Tensor_mode %x, %[[DIVISOR]] {rounding_mode = "floor"}
// CHECK-NEXT: %[[WHOLE:.*]] = edge.mul.Tensor %[[FLOOR]], %[[DIVISOR]]
// CHECK-NEXT: %[[REST:.*]] = edge.sub.Tensor %x, %[[WHOLE]]
// CHECK-NEXT: func.return %[[REST]]

// -----

// With the sign of the dividend.
func.func @forward(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = edge.fmod.Scalar %x {other = -3} : tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[DIVISOR:.*]] = edge.full {size = [], fill_value = -3, dtype = i64}
// CHECK-NEXT: %[[FLOOR:.*]] = edge.div.Tensor_mode %x, %[[DIVISOR]] {rounding_mode = "floor"}
// CHECK-NEXT: %[[WHOLE:.*]] = edge.mul.Tensor %[[FLOOR]], %[[DIVISOR]]
// CHECK-NEXT: %[[REST:.*]] = edge.sub.Tensor %x, %[[WHOLE]]
// CHECK-NEXT: %[[LT:.*]] = edge.lt.Scalar %x {other = 0}
// CHECK-NEXT: %[[LT2:.*]] = edge.lt.Scalar %[[REST]] {other = 0}
// CHECK-NEXT: %[[DIFFERS:.*]] = edge.logical_xor %[[LT]], %[[LT2]]
// CHECK-NEXT: %[[SOME:.*]] = edge.ne.Scalar %[[REST]] {other = 0}
// CHECK-NEXT: %[[AND:.*]] = edge.logical_and %[[DIFFERS]], %[[SOME]]
// CHECK-NEXT: %[[SUB:.*]] = edge.sub.Tensor %[[REST]], %[[DIVISOR]]
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[AND]], %[[SUB]], %[[REST]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// A quotient toward zero is one more than that rounded down, where it is negative; that of -1 is a negation.
func.func @forward(%x: tensor<4xi64>, %y: tensor<i64>) -> tensor<4xi64> {
  %0 = edge.div.Tensor_mode %x, %y {rounding_mode = "trunc"} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EQ:.*]] = edge.eq.Scalar %y {other = -1}
// CHECK:      %[[FLOOR:.*]] = edge.div.Tensor_mode %x, {{.*}} {rounding_mode = "floor"}
// CHECK:      %[[AND:.*]] = edge.logical_and
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Scalar %[[FLOOR]] {other = 1}
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[AND]], %[[ADD]], %[[FLOOR]]
// CHECK-NEXT: %[[NEG:.*]] = edge.neg %x
// CHECK-NEXT: %[[WHERE2:.*]] = edge.where.self %[[EQ]], %[[NEG]], %[[WHERE]]
// CHECK-NEXT: func.return %[[WHERE2]]

// -----

func.func @forward(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = edge.div.Scalar_mode %x {other = -1, rounding_mode = "trunc"} : tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NEG:.*]] = edge.neg %x
// CHECK-NEXT: func.return %[[NEG]]

// -----

// Nothing is wrong with smaller integers, with quotients rounded down, and with zero, which is refused.
func.func @forward(%x: tensor<4xi32>, %y: tensor<4xi64>) -> (tensor<4xi32>, tensor<4xi64>, tensor<4xi64>) {
  %0 = edge.fmod.Scalar %x {other = 3} : tensor<4xi32>
  %1 = edge.div.Scalar_mode %y {other = 3, rounding_mode = "floor"} : tensor<4xi64>
  %2 = edge.fmod.Scalar %y {other = 0} : tensor<4xi64>
  func.return %0, %1, %2 : tensor<4xi32>, tensor<4xi64>, tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FMOD:.*]] = edge.fmod.Scalar %x {other = 3}
// CHECK-NEXT: %[[DIV:.*]] = edge.div.Scalar_mode %y {other = 3, rounding_mode = "floor"}
// CHECK-NEXT: %[[FMOD2:.*]] = edge.fmod.Scalar %y {other = 0}
// CHECK-NEXT: func.return %[[FMOD]], %[[DIV]], %[[FMOD2]]
