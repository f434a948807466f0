// RUN: et-opt -p verify-aten %s | filecheck %s

program.parameter @w : tensor<2xf32> = #program.data<f32, [1.0, 2.0]>
program.buffer mutable @state : tensor<2xf32>

// CHECK-LABEL: func.func @forward
// CHECK: aten.add.Tensor
func.func @forward(%x: tensor<?x2xf32>, %n: i64) -> (tensor<?x2xf32>, i64) {
  %w = program.get @w : tensor<2xf32>
  %s = program.load @state : tensor<2xf32>
  %two = program.literal 2.0 : f64
  %0 = aten.mul.Tensor %w, %two : (tensor<2xf32>, f64) -> tensor<2xf32>
  %1 = aten.add.Tensor %x, %0 : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %2 = aten.view %1 {size = [%n, 2]} : (tensor<?x2xf32>, i64) -> tensor<?x2xf32>
  program.store @state, %s : tensor<2xf32>
  func.return %2, %n : tensor<?x2xf32>, i64
}
