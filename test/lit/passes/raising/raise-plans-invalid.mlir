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
  %i = executorch.view %x : tensor<4xi32>
  %r = executorch.alloc : tensor<4xi32>
  // expected-error @below {{[raise_c3] memory that was written as tensor<4xf32> is read as tensor<4xi32>}}
  executorch.kernel_call "aten::abs.out"(%i) outs(%r)
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
