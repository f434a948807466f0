// RUN: et-opt -p update-in-place --split-input-file %s | filecheck %s
// RUN: et-opt -p 'update-in-place{target="et-vm"}' --split-input-file %s | filecheck %s --check-prefix=VM
// RUN: et-opt -p 'update-in-place{extra="llama::update_cache.out"}' --split-input-file %s | filecheck %s --check-prefix=EXTRA

// What is put into state is put where it is; products read the state itself.
// CHECK-LABEL: executorch.plan @put
// CHECK:       executorch.kernel_call "aten::lt.Scalar_out"(%at, 0) outs(%[[NEGATIVE:[0-9]+]])
// CHECK-NEXT:  executorch.kernel_call "aten::add.Scalar_out"(%at, 8, 1) outs(%[[PLACE:[0-9]+]])
// CHECK-NEXT:  executorch.kernel_call "aten::where.self_out"(%[[NEGATIVE]], %[[PLACE]], %at) outs(%[[PLACE]])
// CHECK-NEXT:  executorch.kernel_call "aten::index_put_"(%k, [none, %[[PLACE]]], %x, false) returns(%k)
// CHECK:       executorch.kernel_call "aten::bmm.out"(%k, %q) outs(%o)
// CHECK-NEXT:  executorch.return %o
// VM-LABEL:    executorch.plan @put
// VM:          executorch.kernel_call "aten::index_put_"(%k, [none, %at], %x, false) returns(%k)
// VM:          executorch.kernel_call "aten::bmm.out"(%k, %q) outs(%o)
program.buffer mutable @k : tensor<2x8x4xf32>
executorch.plan @put {
  %q = executorch.input : tensor<2x4x1xf32>
  %x = executorch.input : tensor<2x1x4xf32>
  %at = executorch.input : tensor<1xi64>
  %k = executorch.state @k : tensor<2x8x4xf32>
  %r = executorch.alloc : tensor<2x8x4xf32>
  executorch.kernel_call "aten::index_put.out"(%k, [none, %at], %x, false) outs(%r)
  %o = executorch.alloc : tensor<2x8x1xf32>
  executorch.kernel_call "aten::bmm.out"(%r, %q) outs(%o)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return %o
}

// -----

// Several indices into the stock runtime's one; those that are looked up are still found to be out of range.
// CHECK:       program.constant @places : tensor<2xi64> = #program.data<i64, [0, 8]>
// CHECK-NEXT:  program.constant @places_1 : tensor<8xi64> = #program.data<i64, [0, 1, 2, 3, 4, 5, 6, 7]>
// CHECK-LABEL: executorch.plan @several
// CHECK:       executorch.kernel_call "aten::index.Tensor_out"(%{{.*}}, optional [%i]) outs(%[[I:.*]])
// CHECK:       executorch.kernel_call "aten::index.Tensor_out"(%{{.*}}, optional [%j]) outs(%[[J:.*]])
// CHECK:       executorch.kernel_call "aten::add.out"(%[[I]], %[[J]], 1) outs(%[[IJ:.*]])
// CHECK:       %[[FLAT:.*]] = executorch.view %k : tensor<16x4xf32>
// CHECK:       executorch.kernel_call "aten::index_put_"(%[[FLAT]], optional [%[[IJ]]], %x, false) returns(%[[FLAT]])
// CHECK-NEXT:  executorch.return
// VM-LABEL:    executorch.plan @several
// VM:          executorch.kernel_call "aten::index_put_"(%k, optional [%i, %j], %x, false) returns(%k)
// VM-NEXT:     executorch.return
program.buffer mutable @k : tensor<2x8x4xf32>
executorch.plan @several {
  %x = executorch.input : tensor<3x4xf32>
  %i = executorch.input : tensor<3xi64>
  %j = executorch.input : tensor<3xi64>
  %k = executorch.state @k : tensor<2x8x4xf32>
  %r = executorch.alloc : tensor<2x8x4xf32>
  executorch.kernel_call "aten::index_put.out"(%k, optional [%i, %j], %x, false) outs(%r)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return
}

// -----

// A sum at one place: the stock runtime's kernel in place does not add.
// CHECK-LABEL: executorch.plan @sum
// CHECK:       executorch.kernel_call "aten::index_select.out"(%k, 0, %[[PLACE:.*]]) outs(%[[THERE:.*]])
// CHECK-NEXT:  executorch.kernel_call "aten::add.out"(%[[THERE]], %x, 1) outs(%[[THERE]])
// CHECK-NEXT:  executorch.kernel_call "aten::index_put_"(%k, optional [%[[PLACE]]], %[[THERE]], false) returns(%k)
// VM-LABEL:    executorch.plan @sum
// VM:          executorch.kernel_call "aten::index_put_"(%k, optional [%i], %x, true) returns(%k)
program.buffer mutable @k : tensor<8x4xf32>
executorch.plan @sum {
  %x = executorch.input : tensor<1x4xf32>
  %i = executorch.input : tensor<1xi64>
  %k = executorch.state @k : tensor<8x4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::index_put.out"(%k, optional [%i], %x, true) outs(%r)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return
}

// -----

// Does not fire: there may be several sums at a place. In et-vm's kernel there may.
// CHECK-LABEL: executorch.plan @sums
// CHECK:       executorch.kernel_call "aten::index_put.out"(%k, optional [%i], %x, true) outs(%r)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
// VM-LABEL:    executorch.plan @sums
// VM:          executorch.kernel_call "aten::index_put_"(%k, optional [%i], %x, true) returns(%k)
// VM-NEXT:     executorch.return
program.buffer mutable @k : tensor<8x4xf32>
executorch.plan @sums {
  %x = executorch.input : tensor<2x4xf32>
  %i = executorch.input : tensor<2xi64>
  %k = executorch.state @k : tensor<8x4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::index_put.out"(%k, optional [%i], %x, true) outs(%r)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return
}

// -----

// A slice along the outermost dimension is a view that is copied to; two updates follow one another.
// CHECK-LABEL: executorch.plan @slices
// CHECK:       %[[PART:.*]] = executorch.view %k from 32 : tensor<2x4xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%[[PART]], %x, false) returns(%[[PART]])
// CHECK:       %[[ONE:.*]] = executorch.view %k from 112 : tensor<4xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%[[ONE]], %y, false) returns(%[[ONE]])
// CHECK-NEXT:  executorch.return
program.buffer mutable @k : tensor<8x4xf32>
executorch.plan @slices {
  %x = executorch.input : tensor<2x4xf32>
  %y = executorch.input : tensor<4xf32>
  %k = executorch.state @k : tensor<8x4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%k, %x, 0, 2, 4, 1) outs(%r)
  %s = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::select_scatter.out"(%r, %y, 0, -1) outs(%s)
  executorch.kernel_call "aten::copy_"(%k, %s, false) returns(%k)
  executorch.return
}

// -----

// A slice whose start is known at run time, and one whose size is.
// CHECK-LABEL: executorch.plan @dynamic
// CHECK:       executorch.kernel_call "executorch_prim::add.Scalar"(%n, 1) returns(%[[END:[0-9]+]])
// CHECK:       %[[AT:[0-9]+]] = executorch.alloc : tensor<1xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::arange.start_out"(%n, %[[END]], 1) outs(%[[AT]])
// CHECK:       executorch.kernel_call "aten::index_put_"(%k, [none, %{{[0-9]+}}], %x, false) returns(%k)
// CHECK:       executorch.kernel_call "aten::sym_size.int"(%y, 1) returns(%[[SIZE:[0-9]+]])
// CHECK-NEXT:  %[[FIRST:[0-9]+]] = executorch.alloc bound : tensor<6xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::arange.start_out"(0, %[[SIZE]], 1) outs(%[[FIRST]])
// CHECK-NEXT:  executorch.kernel_call "aten::index_put_"(%k, [none, %[[FIRST]]], %y, false) returns(%k)
// CHECK-NEXT:  executorch.return
program.buffer mutable @k : tensor<2x8x32xf32>
executorch.plan @dynamic {
  %x = executorch.input : tensor<2x1x32xf32>
  %y = executorch.input bound : tensor<2x6x32xf32>
  %at = executorch.input : tensor<i64>
  %k = executorch.state @k : tensor<2x8x32xf32>
  %n = executorch.value 0 : i64
  executorch.kernel_call "aten::_local_scalar_dense"(%at) returns(%n)
  %end = executorch.value 0 : i64
  executorch.kernel_call "executorch_prim::add.Scalar"(%n, 1) returns(%end)
  %r = executorch.alloc : tensor<2x8x32xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%k, %x, 1, %n, %end, 1) outs(%r)
  %size = executorch.value 0 : i64
  executorch.kernel_call "aten::sym_size.int"(%y, 1) returns(%size)
  %s = executorch.alloc : tensor<2x8x32xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%r, %y, 1, 0, %size, 1) outs(%s)
  executorch.kernel_call "aten::copy_"(%k, %s, false) returns(%k)
  executorch.return
}

// -----

// The cache of one layer among those of all: it is updated where it lies.
// CHECK-LABEL: executorch.plan @layer
// CHECK:       executorch.kernel_call "aten::index_put_"(%v, [none, %{{[0-9]+}}], %x, false) returns(%v)
// CHECK:       executorch.kernel_call "aten::bmm.out"(%v, %q) outs(%o)
// CHECK-NEXT:  executorch.return %o
program.buffer mutable @k : tensor<3x2x8x4xf32>
executorch.plan @layer {
  %q = executorch.input : tensor<2x4x1xf32>
  %x = executorch.input : tensor<2x1x4xf32>
  %at = executorch.input : tensor<1xi64>
  %k = executorch.state @k : tensor<3x2x8x4xf32>
  %v = executorch.view %k from 256 : tensor<2x8x4xf32>
  %r = executorch.alloc : tensor<2x8x4xf32>
  executorch.kernel_call "aten::index_put.out"(%v, [none, %at], %x, false) outs(%r)
  %s = executorch.alloc : tensor<3x2x8x4xf32>
  executorch.kernel_call "aten::select_scatter.out"(%k, %r, 0, 1) outs(%s)
  %o = executorch.alloc : tensor<2x8x1xf32>
  executorch.kernel_call "aten::bmm.out"(%r, %q) outs(%o)
  executorch.kernel_call "aten::copy_"(%k, %s, false) returns(%k)
  executorch.return %o
}

// -----

// A result that is only stored is computed in the state, also over what it is computed from, element by element.
// CHECK-LABEL: executorch.plan @stored
// CHECK:       executorch.kernel_call "aten::mm.out"(%x, %x) outs(%h)
// CHECK:       executorch.kernel_call "aten::add.Scalar_out"(%n, 1, 1) outs(%n)
// CHECK-NEXT:  executorch.return
program.buffer mutable @h : tensor<4x4xf32>
program.buffer mutable @n : tensor<i64>
executorch.plan @stored {
  %x = executorch.input : tensor<4x4xf32>
  %r = executorch.alloc : tensor<4x4xf32>
  executorch.kernel_call "aten::mm.out"(%x, %x) outs(%r)
  %n = executorch.state @n : tensor<i64>
  %m = executorch.alloc : tensor<i64>
  executorch.kernel_call "aten::add.Scalar_out"(%n, 1, 1) outs(%m)
  %h = executorch.state @h : tensor<4x4xf32>
  executorch.kernel_call "aten::copy_"(%h, %r, false) returns(%h)
  executorch.kernel_call "aten::copy_"(%n, %m, false) returns(%n)
  executorch.return
}

// -----

// Does not fire: a product reads what it would write over, and the old state is read behind.
// CHECK-LABEL: executorch.plan @product
// CHECK:       executorch.kernel_call "aten::mm.out"(%x, %h) outs(%r)
// CHECK:       executorch.kernel_call "aten::neg.out"(%x) outs(%m)
// CHECK:       executorch.kernel_call "aten::add.out"(%x, %n, 1) outs(%o)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%h, %r, false) returns(%h)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%n, %m, false) returns(%n)
program.buffer mutable @h : tensor<4x4xf32>
program.buffer mutable @n : tensor<4x4xf32>
executorch.plan @product {
  %x = executorch.input : tensor<4x4xf32>
  %h = executorch.state @h : tensor<4x4xf32>
  %n = executorch.state @n : tensor<4x4xf32>
  %r = executorch.alloc : tensor<4x4xf32>
  executorch.kernel_call "aten::mm.out"(%x, %h) outs(%r)
  %m = executorch.alloc : tensor<4x4xf32>
  executorch.kernel_call "aten::neg.out"(%x) outs(%m)
  %o = executorch.alloc : tensor<4x4xf32>
  executorch.kernel_call "aten::add.out"(%x, %n, 1) outs(%o)
  executorch.kernel_call "aten::copy_"(%h, %r, false) returns(%h)
  executorch.kernel_call "aten::copy_"(%n, %m, false) returns(%n)
  executorch.return %o
}

// -----

// Does not fire: the state keeps its old value, which is read later; the result is not stored.
// CHECK-LABEL: executorch.plan @kept
// CHECK:       executorch.kernel_call "aten::index_put.out"(%k, optional [%i], %x, false) outs(%r)
program.buffer mutable @k : tensor<8x4xf32>
executorch.plan @kept {
  %x = executorch.input : tensor<1x4xf32>
  %i = executorch.input : tensor<1xi64>
  %k = executorch.state @k : tensor<8x4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::index_put.out"(%k, optional [%i], %x, false) outs(%r)
  executorch.return %r
}

// -----

// The new state is returned, too: the caller gets a copy.
// CHECK-LABEL: executorch.plan @returned
// CHECK:       executorch.kernel_call "aten::index_put_"(%k, optional [%{{[0-9]+}}], %x, false) returns(%k)
// CHECK-NEXT:  %[[OUT:.*]] = executorch.alloc : tensor<8x4xf32>
// CHECK-NEXT:  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%k, false, [0, 1]) outs(%[[OUT]])
// CHECK-NEXT:  executorch.return %[[OUT]]
program.buffer mutable @k : tensor<8x4xf32>
executorch.plan @returned {
  %x = executorch.input : tensor<1x4xf32>
  %i = executorch.input : tensor<1xi64>
  %k = executorch.state @k : tensor<8x4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::index_put.out"(%k, optional [%i], %x, false) outs(%r)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return %r
}

// -----

// What is no state is updated in place, too, where nothing reads the old value; an input of the method is not.
// CHECK-LABEL: executorch.plan @values
// CHECK:       executorch.kernel_call "aten::slice_scatter.out"(%x, %y, 0, 0, 4, 1) outs(%a)
// CHECK:       executorch.kernel_call "aten::copy_"(%[[PART:.*]], %y, false) returns(%[[PART]])
// CHECK:       executorch.kernel_call "aten::slice_scatter.out"(%a, %y, 0, 0, 4, 1) outs(%c)
// CHECK-NEXT:  executorch.return %a, %c
executorch.plan @values {
  %x = executorch.input : tensor<8x4xf32>
  %y = executorch.input : tensor<4x4xf32>
  %a = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%x, %y, 0, 0, 4, 1) outs(%a)
  %b = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%a, %y, 0, 4, 8, 1) outs(%b)
  %c = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%b, %y, 0, 0, 4, 1) outs(%c)
  executorch.return %b, %c
}

// -----

// The state that goes round a loop is written where it is.
// CHECK-LABEL: executorch.plan @loop
// CHECK-NOT:   copy_
// CHECK-NOT:   clone
// CHECK:       executorch.kernel_call "aten::index_put_"(%k, optional [%{{[0-9]+}}], %x, false) returns(%k)
// CHECK-NOT:   copy_
// CHECK-NOT:   clone
program.buffer mutable @k : tensor<8x4xf32>
executorch.plan @loop {
  %x = executorch.input : tensor<1x4xf32>
  %i = executorch.input : tensor<1xi64>
  %k = executorch.state @k : tensor<8x4xf32>
  %c = executorch.alloc : tensor<8x4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  %p = executorch.value false : i1
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%k, false, [0, 1]) outs(%c)
  executorch.jump ^body
^body:
  executorch.kernel_call "aten::index_put.out"(%c, optional [%i], %x, false) outs(%r)
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%r, false, [0, 1]) outs(%c)
  executorch.kernel_call "executorch_prim::eq.Scalar"(1, 1) returns(%p)
  executorch.jump_false %p, ^body, ^done
^done:
  executorch.kernel_call "aten::copy_"(%k, %c, false) returns(%k)
  executorch.return
}

// -----

// One branch updates the state, the other leaves it as it is.
// CHECK-LABEL: executorch.plan @branches
// CHECK:       executorch.jump_false %p, ^[[ELSE:.*]], ^[[THEN:.*]]
// CHECK:       executorch.kernel_call "aten::index_put_"(%k, optional [%{{[0-9]+}}], %x, false) returns(%k)
// CHECK-NEXT:  executorch.jump
// CHECK-NOT:   clone
// CHECK:       executorch.kernel_call "aten::neg.out"(%k) outs(%o)
// CHECK-NEXT:  executorch.return %o
program.buffer mutable @k : tensor<8x4xf32>
executorch.plan @branches {
  %p = executorch.input : tensor<i1>
  %x = executorch.input : tensor<1x4xf32>
  %i = executorch.input : tensor<1xi64>
  %k = executorch.state @k : tensor<8x4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  %o = executorch.alloc : tensor<8x4xf32>
  executorch.jump_false %p, ^else, ^then
^then:
  executorch.kernel_call "aten::index_put.out"(%k, optional [%i], %x, false) outs(%r)
  executorch.jump ^join
^else:
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%k, false, [0, 1]) outs(%r)
  executorch.jump ^join
^join:
  executorch.kernel_call "aten::neg.out"(%r) outs(%o)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return %o
}

// -----

// A kernel that writes over a view of the same bytes is given its result instead: the two are one register.
// CHECK-LABEL: executorch.plan @over_a_view
// CHECK:       %[[V:.*]] = executorch.view %o : tensor<f32>
// CHECK:       outs(%[[V]])
// CHECK:       executorch.kernel_call "aten::minimum.out"(%o, %x) outs(%o)
// CHECK-NOT:   clone
executorch.plan @over_a_view {
  %p = executorch.input : tensor<i1>
  %x = executorch.input : tensor<f32>
  %a = executorch.alloc : tensor<f32>
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  %v = executorch.view %a : tensor<1xf32>
  %o = executorch.alloc : tensor<1xf32>
  executorch.jump_false %p, ^else, ^then
^then:
  executorch.kernel_call "aten::minimum.out"(%v, %x) outs(%o)
  executorch.jump ^join
^else:
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%v, false, [0]) outs(%o)
  executorch.jump ^join
^join:
  executorch.return %o
}

// -----

// Neighboring places of a cache: one call, where the runtime has the operator for it. Values that are broadcast, and every
// second place, are not for it.
// CHECK-LABEL: executorch.plan @cache
// CHECK:       "aten::index_put_"
// EXTRA-LABEL: executorch.plan @cache
// EXTRA-NOT:   arange
// EXTRA:       %[[UNUSED:.*]] = executorch.alloc : tensor<1xf32>
// EXTRA-NEXT:  executorch.kernel_call "llama::update_cache.out"(%x, %k, %n) outs(%[[UNUSED]])
// EXTRA:       executorch.kernel_call "aten::index_put_"(%k, [none, %{{.*}}], %x, false) returns(%k)
// EXTRA-NEXT:  executorch.return
program.buffer mutable @k : tensor<1x8x2x32xf32>
executorch.plan @cache {
  %x = executorch.input bound : tensor<1x3x2x32xf32>
  %at = executorch.input : tensor<i64>
  %k = executorch.state @k : tensor<1x8x2x32xf32>
  %n = executorch.value 0 : i64
  executorch.kernel_call "aten::_local_scalar_dense"(%at) returns(%n)
  %size = executorch.value 0 : i64
  executorch.kernel_call "aten::sym_size.int"(%x, 1) returns(%size)
  %end = executorch.value 0 : i64
  executorch.kernel_call "executorch_prim::add.Scalar"(%n, %size) returns(%end)
  %r = executorch.alloc : tensor<1x8x2x32xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%k, %x, 1, %n, %end, 1) outs(%r)
  %s = executorch.alloc : tensor<1x8x2x32xf32>
  executorch.kernel_call "aten::slice_scatter.out"(%r, %x, 1, %n, %end, 2) outs(%s)
  executorch.kernel_call "aten::copy_"(%k, %s, false) returns(%k)
  executorch.return
}

// -----

// A loop computes what it carries in a view, after the register itself was written: what comes after it reads a view.
// CHECK-LABEL: executorch.plan @carried
// CHECK:       %c = executorch.alloc : tensor<1xf32>
// CHECK-NEXT:  %[[READ:.*]] = executorch.view %c : tensor<1xf32>
// CHECK:       %[[V:.*]] = executorch.view %c : tensor<f32>
// CHECK:       clone{{.*}} outs(%c)
// CHECK:       executorch.kernel_call "aten::neg.out"(%x) outs(%[[V]])
// CHECK-NOT:   clone
// CHECK:       executorch.kernel_call "aten::neg.out"(%[[READ]]) outs(%o)
executorch.plan @carried {
  %x = executorch.input : tensor<f32>
  %y = executorch.input : tensor<1xf32>
  %p = executorch.input : tensor<i1>
  %c = executorch.alloc : tensor<1xf32>
  %v = executorch.alloc : tensor<f32>
  %shown = executorch.view %v : tensor<1xf32>
  %o = executorch.alloc : tensor<1xf32>
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%y, false, [0]) outs(%c)
  executorch.jump ^body
^body:
  executorch.kernel_call "aten::neg.out"(%x) outs(%v)
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%shown, false, [0]) outs(%c)
  executorch.jump_false %p, ^body, ^done
^done:
  executorch.kernel_call "aten::neg.out"(%c) outs(%o)
  executorch.return %o
}

// -----

// A delegate that updates an input: in the register of the state that it is given for that. Not where it is given that
// for something else too, nor where the state is needed as it was.
// CHECK-LABEL: executorch.plan @delegate
// CHECK:       executorch.delegate_call @lowered_0(%x, %k) outs(%o, %k)
// CHECK-NEXT:  executorch.return %o
// CHECK-LABEL: executorch.plan @given_twice
// CHECK:       executorch.delegate_call @lowered_0(%k, %k) outs(%o, %r)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
// CHECK-LABEL: executorch.plan @needed
// CHECK:       executorch.delegate_call @lowered_0(%x, %k) outs(%o, %r)
// CHECK:       executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
// CHECK-LABEL: executorch.plan @other_input
// CHECK:       executorch.delegate_call @lowered_0(%k, %x) outs(%o, %r)
// CHECK:       executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
program.buffer mutable @k : tensor<8x4xf32>
backend.lowered @lowered_0 "demo" updates array<i64: 1, 1> = #program.data<ui8, [1]>
executorch.plan @delegate {
  %x = executorch.input : tensor<8x4xf32>
  %k = executorch.state @k : tensor<8x4xf32>
  %o = executorch.alloc : tensor<4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.delegate_call @lowered_0(%x, %k) outs(%o, %r)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return %o
}
executorch.plan @given_twice {
  %k = executorch.state @k : tensor<8x4xf32>
  %o = executorch.alloc : tensor<4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.delegate_call @lowered_0(%k, %k) outs(%o, %r)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return %o
}
executorch.plan @needed {
  %x = executorch.input : tensor<8x4xf32>
  %k = executorch.state @k : tensor<8x4xf32>
  %o = executorch.alloc : tensor<4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.delegate_call @lowered_0(%x, %k) outs(%o, %r)
  %s = executorch.alloc : tensor<8x4xf32>
  executorch.kernel_call "aten::add.out"(%k, %r, 1) outs(%s)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return %o, %s
}
executorch.plan @other_input {
  %x = executorch.input : tensor<8x4xf32>
  %k = executorch.state @k : tensor<8x4xf32>
  %o = executorch.alloc : tensor<4xf32>
  %r = executorch.alloc : tensor<8x4xf32>
  executorch.delegate_call @lowered_0(%k, %x) outs(%o, %r)
  executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
  executorch.return %o
}

// -----

// An input in the caller's memory has views of all of it only: another one is made of a part of the result, which
// stays in memory of its own.
// CHECK-LABEL: executorch.plan @part_of_an_input
// CHECK:       executorch.kernel_call "aten::select_scatter.out"(%x, %row, 0, 0) outs(%r)
// CHECK:       executorch.kernel_call "aten::copy_"(%x, %r, false) returns(%x)
// CHECK-LABEL: executorch.plan @all_of_an_input
// CHECK:       executorch.kernel_call "aten::index_put_"(%x, optional [%{{.*}}], %{{.*}}, false) returns(%x)
// CHECK-NOT:   "aten::copy_"
executorch.plan @part_of_an_input {
  %x = executorch.input aliased : tensor<2x4xf32>
  %row = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::select_scatter.out"(%x, %row, 0, 0) outs(%r)
  %second = executorch.view %r from 16 : tensor<4xf32>
  %o = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::neg.out"(%second) outs(%o)
  executorch.kernel_call "aten::copy_"(%x, %r, false) returns(%x)
  executorch.return %o
}
executorch.plan @all_of_an_input {
  %x = executorch.input aliased : tensor<2x4xf32>
  %row = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::select_scatter.out"(%x, %row, 0, 0) outs(%r)
  %flat = executorch.view %r : tensor<8xf32>
  %o = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::neg.out"(%flat) outs(%o)
  executorch.kernel_call "aten::copy_"(%x, %r, false) returns(%x)
  executorch.return %o
}
