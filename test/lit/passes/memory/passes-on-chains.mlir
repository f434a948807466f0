// Passes for which the order of the text is the order in time refuse plans of several chains.
// RUN: et-opt -p in-place --verify-diagnostics %s
// RUN: et-opt -p write-back --verify-diagnostics %s
// RUN: et-opt -p free-unbounded --verify-diagnostics %s
// RUN: et-opt -p copies-to-views --verify-diagnostics %s
// RUN: et-opt -p update-in-place --verify-diagnostics %s
// RUN: et-opt -p concatenate-in-place --verify-diagnostics %s

// expected-error@below {{changes what runs when, and this plan is in several chains}}
executorch.plan @forward {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc unbound : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.chain() outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.chain() outs(%b)
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.return %b
}
