// RUN: et-opt -p plan-memory,verify-executorch --split-input-file --verify-diagnostics %s

// A call of an operator that the module declares is one of its out variant.

program.operator "mylib::scale(Tensor x, float by) -> Tensor" out "mylib::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)"
executorch.plan @fits {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "mylib::scale.out"(%x, 2.0) outs(%r)
  executorch.return %r
}

// -----

program.operator "mylib::scale(Tensor x, float by) -> Tensor" out "mylib::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)"
executorch.plan @does_not_fit {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{'mylib::scale.out': [executorch_c4] 1 arguments, but 'mylib::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)' has 2}}
  executorch.kernel_call "mylib::scale.out"(%x) outs(%r)
  // expected-error@+1 {{'mylib::scale.out': [executorch_c4] argument 'by' is 2, expected float}}
  executorch.kernel_call "mylib::scale.out"(%x, 2) outs(%r)
  executorch.return %r
}
