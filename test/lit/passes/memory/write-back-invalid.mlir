// RUN: et-opt -p write-back --split-input-file --verify-diagnostics %s

executorch.plan @nowhere {
  %x = executorch.input : tensor<4xf32>
  // expected-error@+1 {{[write_back_c1] no buffer is named @s}}
  program.store @s, %x : tensor<4xf32>
  executorch.return
}
