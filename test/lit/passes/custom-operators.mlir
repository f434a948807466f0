// RUN: et-opt -p cse,dce,verify-core-aten,aten-to-edge,cse,dce,verify-edge %s | filecheck %s --check-prefix EDGE
// RUN: et-opt -p cse,dce,aten-to-edge,to-out-variant,'link-check{extra="mylib::scale.out","mylib::pair.out","mylib::noise_out","mylib::parts.out"}',plan-memory,verify-executorch %s | filecheck %s

// An operator that no registry knows is pure, unless it is random.

// EDGE:      %0 = edge.mylib.scale %x {by = 2.0} : tensor<4xf32>
// EDGE-NEXT: %1, %2 = edge.mylib.pair %0, none, %0 {n = [1, 2]}
// EDGE-NEXT: %3 = edge.mylib.noise %1 : tensor<4xf32>
// EDGE-NEXT: %4 = edge.mylib.noise %1 : tensor<4xf32>
// EDGE-NEXT: %5, %6 = edge.mylib.parts %2 : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// EDGE-NEXT: func.return %3, %4, %5, %6

// CHECK:      program.operator "mylib::scale
// CHECK:      executorch.kernel_call "mylib::scale.out"(%x, 2.0) outs(%0)
// CHECK:      executorch.kernel_call "mylib::pair.out"(%0, none, %0, [1, 2]) outs(%1, %2)
// CHECK:      executorch.kernel_call "mylib::noise_out"(%1) outs(%3)
// CHECK:      executorch.kernel_call "mylib::parts.out"(%2) outs([%5, %6])
program.operator "mylib::scale(Tensor x, float by) -> Tensor" out "mylib::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)"
program.operator "mylib::pair(Tensor x, Tensor? y, Tensor z, *, SymInt[] n) -> (Tensor, Tensor)" out "mylib::pair.out(Tensor x, Tensor? y, Tensor z, *, SymInt[] n, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))"
program.operator random "mylib::noise(Tensor x) -> Tensor" out "mylib::noise_out(Tensor x, *, Tensor(a!) out) -> ()"
program.operator "mylib::parts(Tensor x) -> Tensor[]" out "mylib::parts.out(Tensor x, *, Tensor(a!)[] out) -> ()"
func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = aten.mylib.scale %x {by = 2.0} : tensor<4xf32>
  %1 = aten.mylib.scale %x {by = 2.0} : tensor<4xf32>
  %unused = aten.mylib.scale %1 {by = 3.0} : tensor<4xf32>
  %2, %3 = aten.mylib.pair %0, none, %1 {n = [1, 2]} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %4 = aten.mylib.noise %2 : tensor<4xf32>
  %5 = aten.mylib.noise %2 : tensor<4xf32>
  %6, %7 = aten.mylib.parts %3 : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %4, %5, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>
}
