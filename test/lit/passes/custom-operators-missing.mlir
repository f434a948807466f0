// RUN: et-opt -p aten-to-edge,to-out-variant,link-check --split-input-file --verify-diagnostics %s

// Every operator without an out variant, each with the text of the one to write.

program.operator "mylib::scale(Tensor x, float by=1.0) -> Tensor"
program.operator "mylib::pair.int(Tensor x, *, int n) -> (Tensor, Tensor)"
program.operator "mylib::parts(Tensor x) -> Tensor[]"
program.operator "mylib::out(Tensor out) -> Tensor"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[out_variant_c1] 'mylib::scale' has no out variant, which runtimes need}}
  %0 = aten.mylib.scale %x {by = 2.0} : tensor<4xf32>
  // expected-error@+1 {{[out_variant_c1] 'mylib::pair.int' has no out variant}}
  %1, %2 = aten.mylib.pair.int %0 {n = 1} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // expected-error@+1 {{[out_variant_c1] 'mylib::parts' has no out variant}}
  %3, %4 = aten.mylib.parts %2 : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  // expected-error@+1 {{[out_variant_c1] 'mylib::out' has no out variant}}
  %5 = aten.mylib.out %1 : tensor<4xf32>
  func.return %5 : tensor<4xf32>
}

// -----

program.operator "mylib::scale(Tensor x) -> Tensor" out "mylib::scale.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{it is a custom operator, for which the runtime of the executorch wheel has no kernel}}
  %0 = aten.mylib.scale %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
