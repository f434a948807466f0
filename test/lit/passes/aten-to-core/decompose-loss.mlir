// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

// Sizes known at run time only are no matter.

// Integers stay: their losses are torch's to promote.
func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.mse_loss %x, %y {reduction = 0} : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MSE_LOSS:.*]] = aten.mse_loss %x, %y {reduction = 0}
// CHECK-NEXT: func.return %[[MSE_LOSS]]
