// RUN: et-opt -p raise-plans --split-input-file --verify-diagnostics %s

executorch.plan @unknown_kernel {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  // expected-error @below {{[raise_c1] no operator is known that the kernel 'mylib::foo.out' computes}}
  executorch.kernel_call "mylib::foo.out"(%x) outs(%r)
  executorch.return %r
}

// -----

executorch.plan @wrong_number_of_arguments {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  // expected-error @below {{[raise_c2] the kernel 'aten::abs.out' is called with 2 arguments, not the 1 of}}
  executorch.kernel_call "aten::abs.out"(%x, 3) outs(%r)
  executorch.return %r
}

// -----

executorch.plan @another_element_type {
  %x = executorch.input : tensor<4xf32>
  %n = executorch.alloc bound : tensor<4x1xi64>
  %i = executorch.view %n : tensor<4x2xi32>
  %r = executorch.alloc : tensor<4x2xi32>
  executorch.kernel_call "aten::nonzero.out"(%x) outs(%n)
  // expected-error @below {{[raise_c3] a part of a tensor with sizes known at run time is read as tensor<4x2xi32>}}
  executorch.kernel_call "aten::abs.out"(%i) outs(%r)
  executorch.return %r
}

// -----

executorch.plan @two_places_without_bytes {
  %x = executorch.input bound {memory_id = 1, offset = 0} : tensor<4x0xf32>
  %y = executorch.input bound {memory_id = 1, offset = 0} : tensor<4x0xi64>
  %r = executorch.alloc bound : tensor<4x0xf32>
  // expected-error @below {{[raise_c3] memory without bytes that was written as tensor<4x0xi64> is read as tensor<4x0xf32>}}
  executorch.kernel_call "aten::abs.out"(%x) outs(%r)
  executorch.return %r
}

// -----

executorch.plan @no_bound {
  // expected-error @below {{[raise_c4] the sizes of the input %x have no bound}}
  %x = executorch.input unbound : tensor<4xf32>
  executorch.return %x
}

// -----

executorch.plan @two_ways_back {
  %p = executorch.input : tensor<i1>
  %x = executorch.input : tensor<4xf32>
  executorch.jump ^head
^head:
  executorch.kernel_call "aten::abs.out"(%x) outs(%x)
  // expected-error @below {{[raise_c5] these jumps are neither a condition nor a loop of a known form}}
  executorch.jump_false %p, ^head, ^more
^more:
  executorch.jump_false %p, ^head, ^done
^done:
  executorch.return %x
}

// -----

executorch.plan @not_written {
  %r = executorch.alloc : tensor<4xf32>
  // expected-error @below {{[raise_c6] %r is read before it is written}}
  executorch.return %r
}

// -----

executorch.plan @number_for_a_tensor {
  %r = executorch.alloc : tensor<4xf32>
  // expected-error @below {{[raise_c2] the argument 'self' of the kernel 'aten::abs.out' is not of the type Tensor}}
  executorch.kernel_call "aten::abs.out"(3) outs(%r)
  executorch.return %r
}

// -----

executorch.plan @tensor_for_a_number {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  // expected-error @below {{[raise_c2] the argument 'alpha' of the kernel 'aten::add.out' is not of the type Scalar}}
  executorch.kernel_call "aten::add.out"(%x, %x, %x) outs(%r)
  executorch.return %r
}

// -----

executorch.plan @stride_of_0 {
  %x = executorch.input : tensor<1x1x4xf32>
  %r = executorch.alloc : tensor<1x1x4xf32>
  // expected-error @below {{[raise_c2] [operand_c3] argument 'stride': expected 2 numbers from 1 to 2147483647, got [0, 1]}}
  executorch.kernel_call "aten::max_pool2d_with_indices.out"(%x, [1, 1], [0, 1], [0, 0], [1, 1], false) outs(%r, %r)
  executorch.return %r
}

// -----

executorch.plan @size_of_no_tensor {
  %i = executorch.value 1 : i64
  %n = executorch.value 0 : i64
  // expected-error @below {{[raise_c2] 'aten::sym_size.int' takes a tensor and a dimension}}
  executorch.kernel_call "aten::sym_size.int"(%i, 0, %n)
  executorch.return %n
}

// -----

executorch.plan @elements_of_files_only {
  // expected-error @below {{[raise_c1] the edge level has no tensors of ui64}}
  %x = executorch.input : tensor<4xui64>
  executorch.return %x
}

// -----

// A loop over the first slices only.
executorch.plan @some_slices {
  %xs = executorch.input : tensor<5x4xf32>
  %r = executorch.alloc : tensor<3x4xf32>
  %x = executorch.alloc : tensor<4xf32>
  %i = executorch.value 0 : i64
  %later = executorch.value false : i1
  %end = executorch.value false : i1
  executorch.jump ^loop
^loop:
  executorch.kernel_call "aten::select_copy.int_out"(%xs, 0, %i) outs(%x)
  executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %x, %i)
  executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
  executorch.kernel_call "executorch_prim::eq.Scalar"(%i, 3) returns(%end)
  // expected-error @below {{[raise_c5] this loop is not known to take all slices of a tensor}}
  executorch.jump_false %end, ^loop, ^done
^done:
  executorch.return %r
}

// -----

// A first turn that computes.
executorch.plan @first_turn {
  %xs = executorch.input : tensor<3x4xf32>
  %r = executorch.alloc : tensor<3x4xf32>
  %x = executorch.alloc : tensor<4xf32>
  %i = executorch.value 0 : i64
  %later = executorch.value false : i1
  %end = executorch.value false : i1
  executorch.jump ^loop
^loop:
  executorch.kernel_call "aten::select_copy.int_out"(%xs, 0, %i) outs(%x)
  // expected-error @below {{[raise_c5] this loop does more in its first turn than to size what it stacks}}
  executorch.kernel_call "executorch_prim::gt.Scalar"(%i, 0) returns(%later)
  executorch.jump_false %later, ^first, ^rest
^rest:
  executorch.jump ^fill
^first:
  executorch.kernel_call "aten::neg.out"(%x) outs(%x)
  executorch.jump ^fill
^fill:
  executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %x, %i)
  executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
  executorch.kernel_call "executorch_prim::eq.Scalar"(%i, 3) returns(%end)
  executorch.jump_false %end, ^loop, ^done
^done:
  executorch.return %r
}

// -----

// Items of a stack that are read again.
executorch.plan @stack_read {
  %xs = executorch.input : tensor<3x4xf32>
  %r = executorch.alloc : tensor<3x4xf32>
  %x = executorch.alloc : tensor<4xf32>
  %i = executorch.value 0 : i64
  %later = executorch.value false : i1
  %end = executorch.value false : i1
  executorch.kernel_call "aten::abs.out"(%xs) outs(%r)
  executorch.jump ^loop
^loop:
  executorch.kernel_call "aten::select_copy.int_out"(%xs, 0, %i) outs(%x)
  // expected-error @below {{[raise_c5] this loop reads what it stacks}}
  executorch.kernel_call "aten::select_copy.int_out"(%r, 0, 0) outs(%x)
  executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %x, %i)
  executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
  executorch.kernel_call "executorch_prim::eq.Scalar"(%i, 3) returns(%end)
  executorch.jump_false %end, ^loop, ^done
^done:
  executorch.return %r
}
