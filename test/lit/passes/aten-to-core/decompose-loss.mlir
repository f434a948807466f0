// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

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
