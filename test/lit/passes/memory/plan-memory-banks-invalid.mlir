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
  // expected-error@+1 {{executorch.bank: no bank named "dram"}}
  %x = executorch.input attributes {executorch.bank = "dram"} : tensor<4xf32>
  // expected-error@+1 {{executorch.alignment: 24 : i64 is not a power of two}}
  %a = executorch.alloc attributes {executorch.alignment = 24 : i64} : tensor<4xf32>
  // expected-error@+1 {{executorch.caller: only inputs and outputs can be caller-owned}}
  %b = executorch.alloc attributes {executorch.caller} : tensor<4xf32>
  // expected-error@+1 {{executorch.bank: a view shares the memory of its register}}
  %v = executorch.view %x attributes {executorch.bank = "sram"} : tensor<2x2xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.kernel_call "aten::relu.out"(%b) outs(%a)
  executorch.return %a
}
