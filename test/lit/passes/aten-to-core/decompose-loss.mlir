// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

// Sizes known at run time only are no matter.
func.func @forward(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<f32> {
  %0 = aten.mse_loss %x, %y {reduction = 1} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[SUB]], %[[SUB]]
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %[[MUL]] {dim = []}
// CHECK-NEXT: func.return %[[MEAN]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<f32> {
  %0 = aten.l1_loss %x, %y {reduction = 2} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[SUB]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[ABS]] {dim = []}
// CHECK-NEXT: func.return %[[SUM]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.smooth_l1_loss %x, %y {reduction = 0, beta = 0.5} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[SUB]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[ABS]], %[[ABS]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[MUL]] {other = 1.0}
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Scalar %[[ABS]] {other = 0.25}
// CHECK-NEXT: %[[MUL3:.*]] = aten.mul.Scalar %[[SUB2]] {other = 1.0}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[ABS]] {other = 0.5}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[MUL2]], %[[MUL3]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<f32> {
  %0 = aten.huber_loss %x, %y {delta = 2.0} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %y
// CHECK-NEXT: %[[ABS:.*]] = aten.abs %[[SUB]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[ABS]], %[[ABS]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[MUL]] {other = 0.5}
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Scalar %[[ABS]] {other = 1.0}
// CHECK-NEXT: %[[MUL3:.*]] = aten.mul.Scalar %[[SUB2]] {other = 2.0}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[ABS]] {other = 2.0}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[MUL2]], %[[MUL3]]
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %[[WHERE]] {dim = []}
// CHECK-NEXT: func.return %[[MEAN]]

// -----

func.func @forward(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<f32> {
  %0 = aten.kl_div %x, %y {log_target = true} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %y
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %y, %x
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[EXP]], %[[SUB]]
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %[[MUL]] {dim = []}
// CHECK-NEXT: func.return %[[MEAN]]

// -----

func.func @forward(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<f32> {
  %0 = aten.kl_div %x, %y {reduction = 2} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOG:.*]] = aten.log %y
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %y, %[[LOG]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %y {other = 0}
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %y
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ISNAN]]
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ]], %[[LOGICAL_NOT]]
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LOGICAL_AND]], %[[FULL]], %[[MUL]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %y, %x
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %[[WHERE]], %[[MUL2]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[SUB]] {dim = []}
// CHECK-NEXT: func.return %[[SUM]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<f32> {
  %0 = aten.soft_margin_loss %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NEG:.*]] = aten.neg %x
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[NEG]], %y
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[MUL]]
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %[[EXP]]
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %[[LOG1P]] {dim = []}
// CHECK-NEXT: func.return %[[MEAN]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.special_xlog1py %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %y
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %[[LOG1P]]
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %y
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ISNAN]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = 0}
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = aten.logical_and %[[EQ]], %[[LOGICAL_NOT]]
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LOGICAL_AND]], %[[FULL]], %[[MUL]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// Integers stay: their losses are torch's to promote.
func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.mse_loss %x, %y {reduction = 0} : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MSE_LOSS:.*]] = aten.mse_loss %x, %y {reduction = 0}
// CHECK-NEXT: func.return %[[MSE_LOSS]]

// -----

// With one factor known, zero or not is known.
func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.special_xlog1py.other_scalar %x {other = 2.0} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NUMBER:.*]] = program.literal 1.0986122886681096
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %[[NUMBER]]
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Scalar %x {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[EQ]], %[[FULL]], %[[MUL]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.special_xlog1py.self_scalar %y {self = 2.0} : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %y
// CHECK-NEXT: %[[NUMBER:.*]] = program.literal 2.000000e+00
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[NUMBER]], %[[LOG1P]]
// CHECK-NEXT: func.return %[[MUL]]
