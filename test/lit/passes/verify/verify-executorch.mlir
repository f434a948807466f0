// RUN: et-opt -p verify-executorch --split-input-file --verify-diagnostics %s

// Passes: planned, with memory that the caller gives, views, state and jumps.
program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.parameter @elsewhere : tensor<4xf32>
program.buffer mutable @s : tensor<4xf32>
backend.lowered @lowered_0 "demo" = #program.data<ui8, [1]>
executorch.plan @good {arenas = array<i64: 32, 16>} {
  %x = executorch.input : tensor<4xf32>
  %w = executorch.constant @w : tensor<2x2xf32>
  %e = executorch.constant external @elsewhere : tensor<4xf32>
  %s = executorch.state @s {memory_id = 2, offset = 0} : tensor<4xf32>
  %a = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
  %v = executorch.view %a : tensor<2x2xf32>
  %b = executorch.alloc {memory_id = 1, offset = 16} : tensor<2x2xf32>
  %again = executorch.alloc {memory_id = 1, offset = 0} : tensor<2x2xf32>
  %out = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %s, 1) outs(%a)
  executorch.kernel_call "aten::mul.out"(%v, %w) outs(%b)
  executorch.kernel_call "my::any.out"(%b, ints [], none) outs(%again)
  executorch.delegate_call @lowered_0(%again, %e) outs(%out)
  executorch.return %out
}

// -----

// expected-error@+1 {{[executorch_c1] is neither a symbol nor a plan}}
func.func @executorch_c1() {
  func.return
}

// -----

program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.parameter @nothing : tensor<4xf32>
executorch.plan @executorch_c2 {arenas = array<i64>} {
  // expected-error@+1 {{[executorch_c2] no parameter, buffer or constant is named @nowhere}}
  %a = executorch.constant @nowhere : tensor<4xf32>
  // expected-error@+1 {{[executorch_c2] tensor<2xf32> has 8 bytes, @w has 16}}
  %b = executorch.constant @w : tensor<2xf32>
  // expected-error@+1 {{[executorch_c2] @nothing has no data}}
  %c = executorch.constant @nothing : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @executorch_c3 {arenas = array<i64>} {
  // expected-error@+1 {{[executorch_c3] no backend.lowered is named @lowered_0}}
  executorch.delegate_call @lowered_0()
  executorch.return
}

// -----

executorch.plan @executorch_c4 {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %n = executorch.value 0 : i64
  %r = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c4] 2 arguments, but 'add.out}}
  executorch.kernel_call "aten::add.out"(%x, %x) outs(%r)
  // expected-error@+1 {{[executorch_c4] argument 'other' is 1, expected Tensor}}
  executorch.kernel_call "aten::add.out"(%x, 1, 1) outs(%r)
  // expected-error@+1 {{[executorch_c4] argument 'other' is of type i64, expected Tensor}}
  executorch.kernel_call "aten::add.out"(%x, %n, 1) outs(%r)
  // expected-error@+1 {{[executorch_c4] argument 'self' is None, expected Tensor}}
  executorch.kernel_call "aten::relu.out"(none) outs(%r)
  // expected-error@+1 {{[executorch_c4] argument 'dim' is a list of floats, expected int[1]?}}
  executorch.kernel_call "aten::mean.out"(%x, [0.5], false, none) outs(%r)
  // expected-error@+1 {{[executorch_c4] 2 outs, but 'relu.out}}
  executorch.kernel_call "aten::relu.out"(%x) outs(%r, %r)
  // expected-error@+1 {{[executorch_c4] 'outs' is a list, but 'relu.out}}
  executorch.kernel_call "aten::relu.out"(%x) outs([%r])
  // expected-error@+1 {{[executorch_c4] 0 returns, but 'sym_size.int}}
  executorch.kernel_call "aten::sym_size.int"(%x, 0)
  executorch.return %r
}

// -----

program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
executorch.plan @executorch_c5 {arenas = array<i64: 16>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %w = executorch.constant @w : tensor<4xf32>
  // expected-error@+1 {{[executorch_c5] writes to the constant %w}}
  executorch.kernel_call "aten::relu.out"(%x) outs(%w)
  executorch.return
}

// -----

executorch.plan @executorch_c6 {arenas = array<i64: 32>} {
  %a = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
  %v = executorch.view %a : tensor<2x2xf32>
  %b = executorch.alloc {memory_id = 1, offset = 16} : tensor<2x2xf32>
  // expected-error@+1 {{[executorch_c6] reads %v, which is never written}}
  executorch.kernel_call "aten::relu.out"(%v) outs(%b)
  executorch.return %b
}

// -----

// expected-error@+1 {{[executorch_c7] the memory of @executorch_c7_arenas is not planned}}
executorch.plan @executorch_c7_arenas {
  executorch.return
}

// -----

executorch.plan @executorch_c7_place {arenas = array<i64: 16>} {
  %x = executorch.input : tensor<4xf32>
  // expected-error@+1 {{[executorch_c7] %v is a view of a register without planned memory}}
  %v = executorch.view %x : tensor<2x2xf32>
  // expected-error@+1 {{[executorch_c7] %a has no storage}}
  %a = executorch.alloc : tensor<2x2xf32>
  %b = executorch.alloc {memory_id = 1, offset = 0} : tensor<2x2xf32>
  executorch.kernel_call "aten::relu.out"(%v) outs(%a)
  executorch.kernel_call "aten::relu.out"(%a) outs(%b)
  executorch.return %b
}

// -----

executorch.plan @executorch_c8 {arenas = array<i64: 24>} {
  // expected-error@+1 {{[executorch_c8] %x ends at byte 32 of arena 1, which has 24}}
  %x = executorch.input {memory_id = 1, offset = 16} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c8] %y is in arena 2, but the plan has 1}}
  %y = executorch.input {memory_id = 2, offset = 0} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c8] offset 2 is not a multiple of the element size of 4 bytes}}
  %z = executorch.input {memory_id = 1, offset = 2} : tensor<f32>
  executorch.return
}

// -----

executorch.plan @executorch_c9 {arenas = array<i64: 48>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c9] %y overlaps %x while both are live}}
  %y = executorch.input {memory_id = 1, offset = 8} : tensor<4xf32>
  %a = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c9] %b overlaps %a while both are live}}
  %b = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %y, 1) outs(%a)
  executorch.kernel_call "aten::relu.out"(%a) outs(%b)
  executorch.return %b
}

// -----

// A branch may use what the other one needs; a loop may not, since it comes round again.
executorch.plan @executorch_c9_jumps {arenas = array<i64: 64>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %c = executorch.value true : i1
  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  %b = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c9] %late overlaps %x while both are live}}
  %late = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
  %result = executorch.reference : tensor<4xf32>
  executorch.jump ^body
^body:
  executorch.jump_false %c, ^else, ^then
^then:
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  executorch.move %a to %result
  executorch.jump ^join
^else:
  executorch.kernel_call "aten::neg.out"(%x) outs(%b)
  executorch.move %b to %result
  executorch.jump ^join
^join:
  executorch.kernel_call "aten::abs.out"(%result) outs(%late)
  executorch.jump_false %c, ^body, ^end
^end:
  executorch.return %late
}

// -----

program.buffer mutable @s : tensor<4xf32>
executorch.plan @executorch_c10 {arenas = array<i64: 16>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c10] stores to a buffer}}
  program.store @s, %x : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @executorch_c10 {arenas = array<i64: 16>} {
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  // expected-error@+1 {{[executorch_c10] writes to an input}}
  program.overwrite %x, %y : tensor<4xf32>
  executorch.return
}
