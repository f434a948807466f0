// RUN: et-opt -p 'plan-memory{memory="sram:id=1,size=32"}' --split-input-file --verify-diagnostics %s

executorch.plan @crowded {
  %x = executorch.input : tensor<4xf32>
  // expected-error@+1 {{crowded: 2 simultaneously live tensors of 48 bytes exceed 32 bytes of sram; they fit without any one of them; the smallest sufficient capacity is 48 bytes: %a : tensor<4xf32> of 16 bytes, needed from 1 to 2}}
  %a = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{crowded: also: %b : tensor<8xf32> of 32 bytes, needed from 2 to 3}}
  %b = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  executorch.kernel_call "aten::cat.out"([%a, %a], 0) outs(%b)
  executorch.return %b
}

// -----

executorch.plan @asks {
  // expected-error@+1 {{plan.bank: no bank named "dram"}}
  %x = executorch.input attributes {plan.bank = "dram"} : tensor<4xf32>
  // expected-error@+1 {{plan.alignment: 24 : i64 is not a power of two}}
  %a = executorch.alloc attributes {plan.alignment = 24 : i64} : tensor<4xf32>
  // expected-error@+1 {{plan.caller: only inputs and outputs can be caller-owned}}
  %b = executorch.alloc attributes {plan.caller} : tensor<4xf32>
  // expected-error@+1 {{plan.bank: a view shares the memory of its register}}
  %v = executorch.view %x attributes {plan.bank = "sram"} : tensor<2x2xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.kernel_call "aten::relu.out"(%b) outs(%a)
  executorch.return %a
}
