// RUN: et-opt -p link-check --split-input-file --verify-diagnostics %s

// Passes: torch's operators, prims and state.
program.buffer mutable @s : tensor<4xf32>
executorch.plan @known {
  %x = executorch.input : tensor<4xf32>
  %s = executorch.state @s : tensor<4xf32>
  %n = executorch.value 0 : i64
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%n)
  executorch.kernel_call "aten::copy_"(%s, %x, false) returns(%s)
  executorch.return
}

// -----

executorch.plan @unknown {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{'my::relu.out': it is a custom operator, for which the runtime of the executorch wheel has no kernel}}
  executorch.kernel_call "my::relu.out"(%x) outs(%r)
  // expected-error@+1 {{'aten::add.no_such_out': 'stock-}}
  executorch.kernel_call "aten::add.no_such_out"(%x, %x, 1) outs(%r)
  executorch.return %r
}
