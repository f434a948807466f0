// RUN: et-opt --split-input-file --verify-diagnostics %s

executorch.plan @register_c1_sizes {
  // expected-error@+1 {{[register_c1] sizes of tensor<?xf32> must be static}}
  %r = executorch.alloc : tensor<?xf32>
  executorch.return
}

// -----

executorch.plan @register_c1_element {
  // expected-error@+1 {{[register_c1] i7 is not a tensor element type of the file format}}
  %r = executorch.alloc : tensor<4xi7>
  executorch.return
}

// -----

executorch.plan @register_c1_rank {
  // expected-error@+1 {{a tensor has 17 dimensions; one of a file has 16 at most}}
  %r = executorch.alloc : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32>
  executorch.return
}

// -----

executorch.plan @register_c1_size {
  // expected-error@+1 {{a tensor has a size of 2147483648; one of a file has 2147483647 at most}}
  %r = executorch.alloc : tensor<2147483648xf32>
  executorch.return
}

// -----

executorch.plan @register_c1_device {
  // expected-error@+1 {{[register_c1] 'abacus:0' is not a device}}
  %r = executorch.alloc {memory_id = 1, offset = 0, device = "abacus:0"} : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @register_c2_together {
  // expected-error@+1 {{[register_c2] 'memory_id' and 'offset' must be given together}}
  %r = executorch.alloc {memory_id = 1} : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @register_c2_arena {
  // expected-error@+1 {{[register_c2] memory ids start at 1}}
  %r = executorch.alloc {memory_id = 0, offset = 0} : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @register_c2_offset {
  // expected-error@+1 {{[register_c2] the offset is negative}}
  %r = executorch.state @s {memory_id = 1, offset = -16} : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @input_c1_type {
  // expected-error@+1 {{[input_c1] 3 : i64 is not a value of type f64}}
  %n = executorch.input 3 : f64
  executorch.return
}

// -----

executorch.plan @input_c1_place {
  // expected-error@+1 {{[input_c1] only tensors have memory}}
  %n = executorch.input 3 {memory_id = 1, offset = 0} : i64
  executorch.return
}

// -----

executorch.plan @input_c1_value {
  // expected-error@+1 {{[register_c1] a register for a tensor has type i64}}
  %n = executorch.input : i64
  executorch.return
}

// -----

executorch.plan @value_c1 {
  // expected-error@+1 {{[value_c1] 0 : i64 is not a value of type i1}}
  %n = executorch.value 0 : i1
  executorch.return
}

// -----

executorch.plan @view_c1 {
  %r = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{[view_c1] 12 bytes at 8 are outside a register of 16 bytes}}
  %v = executorch.view %r from 8 : tensor<3xf32>
  executorch.return
}

// -----

executorch.plan @kernel_call_c1 {
  // expected-error@+1 {{[kernel_call_c1] 'relu' is not of the form namespace::name.overload}}
  executorch.kernel_call "relu"()
  executorch.return
}

// -----

executorch.plan @kernel_call_c2_type {
  %i = executorch.value 0 : i64
  // expected-error@+1 {{[kernel_call_c2] an out argument is a tensor, not i64}}
  executorch.kernel_call "aten::relu.out"() outs(%i)
  executorch.return
}

// -----

executorch.plan @argument_c1_list {
  %r = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{[argument_c1] a list of ints cannot hold 'x'}}
  "executorch.kernel_call"(%r) <{operator = "a::b", arguments = [#executorch.list<"ints", ["x"]>]}> : (tensor<4xf32>) -> ()
  executorch.return
}

// -----

executorch.plan @argument_c1_count {
  %r = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{[argument_c1] more arguments than the 0 operands}}
  "executorch.kernel_call"() <{operator = "a::b", arguments = [#executorch.operand]}> : () -> ()
  executorch.return
}

// -----

executorch.plan @undeclared {
  // expected-error@+1 {{this register is not declared before its use}}
  executorch.kernel_call "aten::relu.out"(%nowhere)
  executorch.return
}

// -----

executorch.plan @untyped_list {
  // expected-error@+1 {{an empty list needs a kind, such as 'ints []'}}
  executorch.kernel_call "aten::relu.out"([])
  executorch.return
}

// -----

executorch.plan @mixed_list {
  %r = executorch.alloc : tensor<4xf32>
  // expected-error@+1 {{not all items of this list are ints}}
  executorch.kernel_call "aten::relu.out"([%r, 1])
  executorch.return
}

// -----

executorch.plan @move_c1 {
  %r = executorch.alloc : tensor<4xf32>
  %i = executorch.value 0 : i64
  // expected-error@+1 {{[move_c1] i64 cannot be moved to tensor<4xf32>}}
  executorch.move %i to %r
  executorch.return
}

// -----

executorch.plan @jump_false_c1 {
  %i = executorch.value 0 : i64
  // expected-error@+1 {{[jump_false_c1] a condition is an i1 or a tensor of i1, not i64}}
  executorch.jump_false %i, ^end, ^end
^end:
  executorch.return
}

// -----

executorch.plan @jump_false_c2 {
  %i = executorch.value true : i1
  // expected-error@+1 {{[jump_false_c2] the second successor must be the next block}}
  executorch.jump_false %i, ^next, ^end
^next:
  executorch.jump ^end
^end:
  executorch.return
}

// -----

executorch.plan @return_c1 {
  // expected-error@+1 {{[return_c1] an output cannot be a list}}
  executorch.return [1]
}

// -----

// expected-error@+1 {{[plan_c2] the last block must end with the only executorch.return}}
executorch.plan @return_c2 {
  // expected-error@+1 {{[return_c2] the return ends the last block}}
  executorch.return 1
^end:
  executorch.return 2
}

// -----

// expected-error@+1 {{[plan_c2] the last block must end with the only executorch.return}}
executorch.plan @block_c2 {
  // expected-error@+2 {{[block_c2] is a terminator in the middle of its block}}
  // expected-error@+1 {{must be the last operation in its parent block}}
  executorch.return 1
  executorch.return 2
}

// -----

// expected-error@+1 {{[plan_c1] 'program.literal' is neither a register nor an instruction}}
executorch.plan @plan_c1 {
  %k = program.literal 1 : i64
  executorch.return
}

// -----

// expected-error@+1 {{[plan_c2] the last block must end with the only executorch.return}}
executorch.plan @plan_c2 {
  executorch.jump ^end
^end:
  executorch.jump ^end
}

// -----

// expected-error@+1 {{[plan_c3] 'executorch.alloc' is declared after the first block}}
executorch.plan @plan_c3 {
  executorch.jump ^end
^end:
  %r = executorch.alloc : tensor<4xf32>
  executorch.return %r
}

// -----

// expected-error@+1 {{[plan_c4] blocks take no arguments}}
executorch.plan @plan_c4 {
^start(%x: tensor<4xf32>):
  executorch.return %x
}

// -----

// expected-error@+1 {{'colour' is not one of arenas, bounds, devices, in_spec, out_spec, stack_traces, guards}}
executorch.plan @option {colour = "red"} {
  executorch.return
}

// -----

executorch.plan @input_c3 {
  // expected-error@+1 {{[input_c3] the name of an input is empty}}
  %x = executorch.input as "" : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @input_c2 {
  // expected-error@+1 {{[input_c2] only an unplanned tensor can be owned by the caller}}
  %x = executorch.input aliased {memory_id = 1, offset = 0} : tensor<4xf32>
  executorch.return
}

// -----

executorch.plan @input_c2 {
  // expected-error@+1 {{[input_c2] only an unplanned tensor can be owned by the caller}}
  %n = executorch.input aliased 3 : i64
  executorch.return
}

// -----

// expected-error@+1 {{[guards_c1] guards name 2 inputs, but the method has 1}}
executorch.plan @guards_of_others {guards = #program.guards<(x, y), "x.shape[0] == 1">} {
  %x = executorch.input bound : tensor<4xf32>
  executorch.return
}

// -----

// expected-error@+1 {{[guards_c1] 'x.shape[1] == 1' is not about an input of type tensor<4xf32>}}
executorch.plan @guards_of_no_dimension {guards = #program.guards<(x), "x.shape[1] == 1">} {
  %x = executorch.input bound : tensor<4xf32>
  executorch.return
}

// -----

// expected-error@+1 {{[plan_c5] an executorch.chain must stand before the first instruction}}
executorch.plan @plan_c5_before {
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.move %a to %b
  executorch.chain() outs(%a)
  executorch.return
}

// -----

// expected-error@+1 {{[plan_c6] this 'executorch.jump_false' leaves its chain}}
executorch.plan @plan_c6_forward {
  %c = executorch.input true : i1
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.chain(%c)
  executorch.jump_false %c, ^end, ^second
^second:
  executorch.chain()
  executorch.move %a to %b
  executorch.jump ^end
^end:
  executorch.return
}
