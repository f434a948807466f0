// Stock xdsl-opt reads what a text declares, too.

// RUN: xdsl-opt %s | filecheck %s
// CHECK: %0 = aten.mylib.scale %x {by = 2.0} : tensor<4xf32>
program.operator "mylib::scale(Tensor x, float by) -> Tensor"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mylib.scale %x {by = 2.0} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
