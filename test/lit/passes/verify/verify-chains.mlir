// RUN: et-opt --split-input-file --verify-diagnostics -p verify-chains %s

// Side by side, and one behind both: nothing to say.
executorch.plan @good {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  executorch.chain(%x) outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.chain(%x) outs(%b)
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.chain(%a, %b) outs(%r)
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)
  executorch.return %r
}

// -----

// Chains that name nothing run one after the other.
executorch.plan @in_their_order {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.chain()
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.chain()
  executorch.kernel_call "aten::relu.out"(%a) outs(%b)
  executorch.return %b
}

// -----

executorch.plan @chains_c1_cycle {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{[chains_c1] waits for %b, which a chain behind it makes}}
  executorch.chain(%b) outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.chain(%a) outs(%b)
  executorch.kernel_call "aten::relu.out"(%a) outs(%b)
  executorch.return %b
}

// -----

executorch.plan @chains_c1_itself {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{[chains_c1] waits for %a, which it has among its outs itself}}
  executorch.chain(%a) outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.return %a
}

// -----

executorch.plan @chains_c1_nobody {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{[chains_c1] waits for %a, which no chain has among its outs}}
  executorch.chain(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.return %a
}

// -----

executorch.plan @chains_c2_missing_edge {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.chain() outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.chain() outs(%b)
  // expected-error@+1 {{[chains_c2] reads %a, while a chain that may run at the same time writes %a}}
  executorch.kernel_call "aten::relu.out"(%a) outs(%b)
  executorch.return %b
}

// -----

executorch.plan @chains_c2_shared_byte {arenas = array<i64: 64>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  %b = executorch.alloc {memory_id = 1, offset = 28} : tensor<4xf32>
  executorch.chain() outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.chain() outs(%b)
  // expected-error@+1 {{[chains_c2] writes %b (bytes 28 to 44 of arena 1), while a chain that may run at the same time writes %a (bytes 16 to 32 of arena 1)}}
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.return %b
}

// -----

executorch.plan @chains_c2_early_free {
  %x = executorch.input : tensor<4xf32>
  %u = executorch.alloc unbound : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.chain() outs(%u)
  executorch.kernel_call "aten::neg.out"(%x) outs(%u)
  executorch.chain(%u) outs(%a)
  executorch.kernel_call "aten::relu.out"(%u) outs(%a)
  executorch.chain(%u)
  // expected-error@+1 {{[chains_c2] writes %u, while a chain that may run at the same time reads %u}}
  executorch.free %u
  executorch.return %a
}

// -----

program.buffer mutable @s : tensor<4xf32>
executorch.plan @chains_c2_state {
  %x = executorch.input : tensor<4xf32>
  %s = executorch.state @s : tensor<4xf32>
  %t = executorch.state @s : tensor<2x2xf32>
  %a = executorch.alloc : tensor<2x2xf32>
  executorch.chain() outs(%a)
  executorch.kernel_call "aten::neg.out"(%t) outs(%a)
  executorch.chain() outs(%s)
  // expected-error@+1 {{[chains_c2] writes %s, while a chain that may run at the same time reads %t}}
  executorch.kernel_call "aten::relu.out"(%x) outs(%s)
  executorch.return %a
}

// -----

// What is bound at run time may be any of what it ever refers to.
executorch.plan @chains_c2_bound {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %m = executorch.reference : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  executorch.chain() outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.chain(%a) outs(%m)
  executorch.move %a to %m
  executorch.chain(%m) outs(%r)
  executorch.kernel_call "aten::relu.out"(%m) outs(%r)
  executorch.chain(%m)
  // expected-error@+1 {{[chains_c2] writes %a, while a chain that may run at the same time reads %m}}
  executorch.kernel_call "aten::abs.out"(%x) outs(%a)
  executorch.return %r
}

// -----

backend.lowered @part "demo" = #program.data<ui8, [1]>
executorch.plan @chains_c2_delegate {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.chain() outs(%a)
  executorch.delegate_call @part(%x) outs(%a)
  executorch.chain() outs(%b)
  // expected-error@+1 {{[chains_c2] uses a delegate, while a chain that may run at the same time uses a delegate}}
  executorch.delegate_call @part(%x) outs(%b)
  executorch.return %a, %b
}

// -----

executorch.plan @chains_c2_generator {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.chain() outs(%a)
  executorch.kernel_call "aten::rand_like.out"(%x, none) outs(%a)
  executorch.chain() outs(%b)
  // expected-error@+1 {{[chains_c2] uses the random generator}}
  executorch.kernel_call "aten::rand_like.out"(%x, none) outs(%b)
  executorch.return %a, %b
}
