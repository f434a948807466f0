// RUN: et-opt --split-input-file %s | et-opt --split-input-file | filecheck %s
// RUN: et-opt --split-input-file --print-op-generic %s | et-opt --split-input-file | filecheck %s

// Registers.
// CHECK-LABEL: executorch.plan @registers {arenas = array<i64: 128, 32>, in_spec = "in", out_spec = "out", stack_traces} {
// CHECK-NEXT:  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
// CHECK-NEXT:  %free = executorch.input bound : tensor<4x2xf32>
// CHECK-NEXT:  %own = executorch.input bound aliased : tensor<4xf32>
// CHECK-NEXT:  %n = executorch.input 3 : i64
// CHECK-NEXT:  %f = executorch.input -0.0 : f64
// CHECK-NEXT:  %flag = executorch.input true : i1
// CHECK-NEXT:  %text = executorch.input "\22quoted\22" : !program.string
// CHECK-NEXT:  %nothing = executorch.input none : none
// CHECK-NEXT:  %w = executorch.constant @fc.weight : tensor<2x2xf32>
// CHECK-NEXT:  %w2 = executorch.constant anonymous requires_grad @fc.weight : tensor<4xf32>
// CHECK-NEXT:  %ext = executorch.constant external @elsewhere : tensor<4xf32>
// CHECK-NEXT:  %s = executorch.state @cache {memory_id = 2, offset = 16} : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc bound {memory_id = 1, offset = 16} : tensor<1x2x2x1xf32, #edge.dim_order<0, 2, 3, 1>>
// CHECK-NEXT:  %u = executorch.alloc unbound : tensor<4xui16>
// CHECK-NEXT:  %q = executorch.alloc {memory_id = 1, offset = 32, device = "cuda:0"} : tensor<4x!executorch.element<"qint8">>
// CHECK-NEXT:  %v = executorch.view %x : tensor<2x2xf32>
// CHECK-NEXT:  %tail = executorch.view %x from 8 : tensor<2xf32>
// CHECK-NEXT:  %e = executorch.reference : tensor<4xf32>
// CHECK-NEXT:  %i = executorch.value 0 : i64
// CHECK-NEXT:  %inf = executorch.value -inf : f64
// CHECK-NEXT:  executorch.return
program.parameter @"fc.weight" : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.parameter @elsewhere : tensor<4xf32>
program.buffer mutable @cache : tensor<4xf32>
executorch.plan @registers {arenas = array<i64: 128, 32>, in_spec = "in", out_spec = "out", stack_traces} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %free = executorch.input bound : tensor<4x2xf32>
  %own = executorch.input bound aliased : tensor<4xf32>
  %n = executorch.input 3 : i64
  %f = executorch.input -0.0 : f64
  %flag = executorch.input true : i1
  %text = executorch.input "\"quoted\"" : !program.string
  %nothing = executorch.input none : none
  %w = executorch.constant @"fc.weight" : tensor<2x2xf32>
  %w2 = executorch.constant anonymous requires_grad @"fc.weight" : tensor<4xf32>
  %ext = executorch.constant external @elsewhere : tensor<4xf32>
  %s = executorch.state @cache {memory_id = 2, offset = 16} : tensor<4xf32>
  %a = executorch.alloc bound {memory_id = 1, offset = 16} : tensor<1x2x2x1xf32, #edge.dim_order<0, 2, 3, 1>>
  %u = executorch.alloc unbound : tensor<4xui16>
  %q = executorch.alloc {memory_id = 1, offset = 32, device = "cuda:0"} : tensor<4x!executorch.element<"qint8">>
  %v = executorch.view %x : tensor<2x2xf32>
  %tail = executorch.view %x from 8 : tensor<2xf32>
  %e = executorch.reference : tensor<4xf32>
  %i = executorch.value 0 : i64
  %inf = executorch.value -inf : f64
  executorch.return
}

// -----

// Instructions.
// CHECK-LABEL: executorch.plan @instructions
// CHECK:      executorch.kernel_call "my::all.out"(%x, 1, -2, 1.0e-05, nan, true, "s", none, [1, %n], [0.5, 2.0], [true, false], [%x, %r], [%x, none]) outs(%r)
// CHECK-NEXT: executorch.kernel_call "my::empty.out"(ints [], floats [], bools [], tensors [], optional [], optional [%x]) outs(%r, %e) handle 7
// CHECK-NEXT: executorch.kernel_call "aten::split_copy.Tensor_out"(%x, 2, 0) outs([%r, %e])
// CHECK-NEXT: executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%i)
// CHECK-NEXT: executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %x, %i)
// CHECK-NEXT: executorch.delegate_call @lowered_0(%x, %n) outs(%r) handle 8
// CHECK-NEXT: executorch.move %r to %e
// CHECK-NEXT: executorch.free %e
// CHECK-NEXT: executorch.return %r, %i, 3, 0.5, none, "text", false
backend.lowered @lowered_0 "demo" = #program.data<ui8, [1, 2]>
executorch.plan @instructions {
  %x = executorch.input : tensor<4xf32>
  %n = executorch.input 3 : i64
  %r = executorch.alloc : tensor<4xf32>
  %e = executorch.reference : tensor<4xf32>
  %i = executorch.value 0 : i64
  executorch.kernel_call "my::all.out"(%x, 1, -2, 1.0e-05, nan, true, "s", none, [1, %n], [0.5, 2.0], [true, false], [%x, %r], [%x, none]) outs(%r)
  executorch.kernel_call "my::empty.out"(ints [], floats [], bools [], tensors [], optional [], optional [%x]) outs(%r, %e) handle 7
  executorch.kernel_call "aten::split_copy.Tensor_out"(%x, 2, 0) outs([%r, %e])
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%i)
  executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %x, %i)
  executorch.delegate_call @lowered_0(%x, %n) outs(%r) handle 8
  executorch.move %r to %e
  executorch.free %e
  executorch.return %r, %i, 3, 0.5, none, "text", false
}

// -----

// Blocks.
// CHECK-LABEL: executorch.plan @blocks {devices = [#executorch.arena_device<1, "cuda:0">]} {
// CHECK:        executorch.jump ^[[LOOP:[a-z0-9]+]]
// CHECK-NEXT: ^[[LOOP]]:
// CHECK-NEXT:   executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
// CHECK-NEXT:   executorch.kernel_call "executorch_prim::eq.Scalar"(%i, 4) returns(%done)
// CHECK-NEXT:   executorch.jump_false %done, ^[[LOOP]], ^[[END:[a-z0-9]+]]
// CHECK-NEXT: ^[[END]]:
// CHECK-NEXT:   executorch.return %i
executorch.plan @blocks {devices = [#executorch.arena_device<1, "cuda:0">]} {
  %i = executorch.value 0 : i64
  %done = executorch.value false : i1
  executorch.jump ^loop
^loop:
  executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
  executorch.kernel_call "executorch_prim::eq.Scalar"(%i, 4) returns(%done)
  executorch.jump_false %done, ^loop, ^end
^end:
  executorch.return %i
}

// -----

// A condition in a register that is declared as an integer, until a kernel returns a boolean to it.
// CHECK-LABEL: executorch.plan @comparison_of_sizes {
// CHECK:        executorch.kernel_call "executorch_prim::gt.Scalar"(%n, 4) returns(%c)
// CHECK-NEXT:   executorch.jump_false %c, ^[[END:[a-z0-9]+]], ^[[THEN:[a-z0-9]+]]
executorch.plan @comparison_of_sizes {
  %n = executorch.input 3 : i64
  %c = executorch.value 0 : i64
  executorch.kernel_call "executorch_prim::gt.Scalar"(%n, 4) returns(%c)
  executorch.jump_false %c, ^end, ^then
^then:
  executorch.jump ^end
^end:
  executorch.return %n
}
