// RUN: et-opt --split-input-file %s | et-opt --split-input-file | filecheck %s
// RUN: et-opt --split-input-file --print-op-generic %s | et-opt --split-input-file | filecheck %s

// CHECK:      program.operator "mylib::scale(Tensor x, float by=2.0) -> Tensor" out "mylib::scale.out(Tensor x, float by=2.0, *, Tensor(a!) out) -> Tensor(a!)"
// CHECK-NEXT: program.operator "mylib::parts.int(Tensor x, SymInt n) -> Tensor[]"
// CHECK-NEXT: program.operator random "mylib::noise(Tensor x) -> (Tensor, Tensor)"
// CHECK:      %0 = aten.mylib.scale %x {by = 0.5} : tensor<4xf32>
// CHECK-NEXT: %1 = aten.mylib.scale %0 : tensor<4xf32>
// CHECK-NEXT: %2, %3 = aten.mylib.parts.int %1 {n = 2} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: %4, %5 = edge.mylib.noise %2 : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
program.operator "mylib::scale(Tensor x, float by=2.0) -> Tensor" out "mylib::scale.out(Tensor x, float by=2.0, *, Tensor(a!) out) -> Tensor(a!)"
program.operator "mylib::parts.int(Tensor x, SymInt n) -> Tensor[]"
program.operator random "mylib::noise(Tensor x) -> (Tensor, Tensor)"
func.func @forward(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = aten.mylib.scale %x {by = 0.5} : tensor<4xf32>
  %1 = aten.mylib.scale %0 : tensor<4xf32>
  %2, %3 = aten.mylib.parts.int %1 {n = 2} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %4, %5 = edge.mylib.noise %2 : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %4 : tensor<2xf32>
}

// -----

// Another text may declare another operator of the same name.

// CHECK: program.operator "mylib::scale(Tensor x, int by) -> Tensor"
// CHECK: %{{.*}} = aten.mylib.scale %x {by = 3} : tensor<4xf32>
program.operator "mylib::scale(Tensor x, int by) -> Tensor"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mylib.scale %x {by = 3} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
