// RUN: et-opt -p raise-plans --split-input-file %s | filecheck %s

// Memory that is used again: what is read is what was written last.
// CHECK-LABEL: func.func @forward(%x: tensor<4xf32> {program.name = "x"}) -> tensor<4xf32>
// CHECK-NEXT:    %a = edge.abs %x : tensor<4xf32>
// CHECK-NEXT:    %b = edge.neg %a : tensor<4xf32>
// CHECK-NEXT:    %b_1 = edge.add.Tensor %b, %a {alpha = 2}
// CHECK-NEXT:    func.return %b_1 : tensor<4xf32>
executorch.plan @forward {arenas = array<i64: 48>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  %b = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
  executorch.kernel_call "aten::abs.out"(%x) outs(%a)
  executorch.kernel_call "aten::neg.out"(%a) outs(%b)
  executorch.kernel_call "aten::add.out"(%b, %a, 2) outs(%b)
  executorch.return %b
}

// -----

// Parts that lie behind each other are a concatenation, a part of a tensor is a slice, another shape a view.
// CHECK-LABEL: func.func @parts
// CHECK:         %a = edge.abs %x : tensor<1x4xf32>
// CHECK-NEXT:    %b = edge.neg %x : tensor<1x4xf32>
// CHECK-NEXT:    %0 = edge.cat [%a, %b] : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    %e = edge.exp %0 : tensor<2x4xf32>
// CHECK-NEXT:    %1 = edge.slice_copy.Tensor %0 {start = 1, end = 2} : (tensor<2x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:    %2 = edge.view_copy %e {size = [8]} : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK-NEXT:    func.return %1, %2
executorch.plan @parts {arenas = array<i64: 80>} {
  %x = executorch.input {memory_id = 1, offset = 64} : tensor<1x4xf32>
  %whole = executorch.alloc {memory_id = 1, offset = 0} : tensor<2x4xf32>
  %a = executorch.view %whole : tensor<1x4xf32>
  %b = executorch.view %whole from 16 : tensor<1x4xf32>
  %e = executorch.alloc {memory_id = 1, offset = 32} : tensor<2x4xf32>
  %f = executorch.view %e : tensor<8xf32>
  executorch.kernel_call "aten::abs.out"(%x) outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%b)
  executorch.kernel_call "aten::exp.out"(%whole) outs(%e)
  executorch.return %b, %f
}

// -----

// State that is written is stored in the end, what the caller gave is overwritten; the element type is that of the out.
// CHECK-LABEL: func.func @state
// CHECK:         %s = program.load @s : tensor<4xf32>
// CHECK-NEXT:    %r = edge.add.Tensor %x, %s
// CHECK-NEXT:    %i = edge.dim_order_ops._to_dim_order_copy %r {dtype = i32, dim_order = [0]}
// CHECK-NEXT:    %x_1 = edge.mul.Scalar %x {other = 2}
// CHECK-NEXT:    program.overwrite %x, %x_1 : tensor<4xf32>
// CHECK-NEXT:    program.store @s, %r : tensor<4xf32>
// CHECK-NEXT:    func.return %i : tensor<4xi32>
program.buffer mutable @s : tensor<4xf32>
executorch.plan @state {
  %x = executorch.input aliased : tensor<4xf32>
  %s = executorch.state @s : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  %i = executorch.alloc : tensor<4xi32>
  executorch.kernel_call "aten::add.out"(%x, %s, 1) outs(%r)
  executorch.kernel_call "aten::copy_"(%s, %r, false) returns(%s)
  executorch.kernel_call "dim_order_ops::_to_dim_order_copy.out"(%r, false, [0]) outs(%i)
  executorch.kernel_call "aten::mul.Scalar_out"(%x, 2) outs(%x)
  executorch.return %i
}

// -----

// Of bounds, those vary that the calls leave free.
// CHECK-LABEL: func.func @sizes(%x: tensor<?x3xf32, #program.sizes<s0>>
// CHECK-SAME:    -> tensor<?x2xf32, #program.sizes<s0>> attributes {program.ranges = #program.ranges<s0 from 0 to 8>}
// CHECK:         edge.mm %x, %w
program.parameter @w : tensor<3x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
executorch.plan @sizes {
  %x = executorch.input bound : tensor<8x3xf32>
  %w = executorch.constant @w : tensor<3x2xf32>
  %r = executorch.alloc bound : tensor<8x2xf32>
  executorch.kernel_call "aten::mm.out"(%x, %w) outs(%r)
  executorch.return %r
}

// -----

// Bounds that are equal say nothing of sizes: a view has those that its instruction gave it.
// CHECK-LABEL: func.func @reshape(%x: tensor<?x?xf32, #program.sizes<s0, s1>>
// CHECK-SAME:    -> tensor<?x?xf32, #program.sizes<s1, s0>>
// CHECK:         %[[M:.*]] = edge.sym_size.int %x {dim = 0}
// CHECK-NEXT:    %[[N:.*]] = edge.sym_size.int %x {dim = 1}
// CHECK-NEXT:    %[[V:.*]] = edge.view_copy %x {size = [%[[N]], %[[M]]]}
// CHECK-NEXT:    %r = edge.neg %[[V]]
// CHECK-NEXT:    func.return %r
executorch.plan @reshape {
  %x = executorch.input bound : tensor<8x8xf32>
  %m = executorch.value 0 : i64
  %n = executorch.value 0 : i64
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%m)
  executorch.kernel_call "aten::sym_size.int"(%x, 1) returns(%n)
  %v = executorch.view bound %x : tensor<8x8xf32>
  executorch.kernel_call "executorch_prim::et_view.default"(%x, [%n, %m]) returns(%v)
  %r = executorch.alloc bound : tensor<8x8xf32>
  executorch.kernel_call "aten::neg.out"(%v) outs(%r)
  executorch.return %r
}

// -----

// What is written through a view is read in the shape of each register of these bytes.
// CHECK-LABEL: func.func @written_through_a_view(%x: tensor<?x?xf32, #program.sizes<s0, s1>>
// CHECK-SAME:    -> (tensor<?x?xf32, #program.sizes<s0, s1>>, tensor<?x?xf32, #program.sizes<s1, s0>>)
// CHECK:         %[[V:.*]] = edge.neg %{{.*}} : tensor<?x?xf32, #program.sizes<s1, s0>>
// CHECK:         %[[X:.*]] = edge.view_copy %[[V]]
// CHECK:         func.return %[[X]], %[[V]]
executorch.plan @written_through_a_view {
  %x = executorch.input bound : tensor<8x8xf32>
  %m = executorch.value 0 : i64
  %n = executorch.value 0 : i64
  %a = executorch.alloc bound : tensor<8x8xf32>
  executorch.kernel_call "aten::abs.out"(%x) outs(%a)
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%m)
  executorch.kernel_call "aten::sym_size.int"(%x, 1) returns(%n)
  %v = executorch.view bound %a : tensor<8x8xf32>
  executorch.kernel_call "executorch_prim::et_view.default"(%a, [%n, %m]) returns(%v)
  executorch.kernel_call "aten::neg.out"(%v) outs(%v)
  executorch.return %a, %v
}

// -----

// A view with the sizes of its base is the base.
// CHECK-LABEL: func.func @same_sizes
// CHECK-NOT:     edge.view_copy
// CHECK:         func.return %r
executorch.plan @same_sizes {
  %x = executorch.input bound : tensor<8x6xf32>
  %m = executorch.value 0 : i64
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%m)
  %v = executorch.view bound %x : tensor<8x6xf32>
  executorch.kernel_call "executorch_prim::et_view.default"(%x, [%m, -1]) returns(%v)
  %r = executorch.alloc bound : tensor<8x6xf32>
  executorch.kernel_call "aten::neg.out"(%v) outs(%r)
  executorch.return %r
}

// -----

// A size that is halved varies in steps of two.
// CHECK-LABEL: func.func @halves(%x: tensor<?x?xf32, #program.sizes<s0, 2*s1 + 1>>
// CHECK-SAME:    -> tensor<?x?xf32, #program.sizes<2*s0, s1>>
executorch.plan @halves {
  %x = executorch.input bound : tensor<8x9xf32>
  %m = executorch.value 0 : i64
  %n = executorch.value 0 : i64
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%m)
  executorch.kernel_call "aten::sym_size.int"(%x, 1) returns(%n)
  executorch.kernel_call "executorch_prim::mul.Scalar"(%m, 2) returns(%m)
  executorch.kernel_call "executorch_prim::floordiv.Scalar"(%n, 2) returns(%n)
  %s = executorch.alloc bound : tensor<8x8xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%x, 1, 0, 8, 1) outs(%s)
  %e = executorch.alloc bound : tensor<8x8xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%x, 1, 1, 9223372036854775807, 1) outs(%e)
  %v = executorch.view bound %e : tensor<16x4xf32>
  executorch.kernel_call "executorch_prim::et_view.default"(%e, [%m, %n]) returns(%v)
  %r = executorch.alloc bound : tensor<16x4xf32>
  executorch.kernel_call "aten::neg.out"(%v) outs(%r)
  executorch.return %r
}

// -----

// What guards say is equal varies together, though one input alone could vary, too. A tensor without elements is not
// what lies at its place.
// CHECK-LABEL: func.func @guarded(%x: tensor<?x2xf32, #program.sizes<s0>>
// CHECK-SAME:    %y: tensor<?xf32, #program.sizes<s0>>
// CHECK-SAME:    %z: tensor<?x0xf32, #program.sizes<s0>>
// CHECK:         edge.abs %z
executorch.plan @guarded {guards = #program.guards<(x, y, z), "x.shape[0] <= 7", "y.shape[0] == x.shape[0]", "z.shape[0] == x.shape[0]">} {
  %x = executorch.input bound {memory_id = 1, offset = 32} : tensor<7x2xf32>
  %y = executorch.input bound {memory_id = 1, offset = 0} : tensor<7xf32>
  %z = executorch.input bound {memory_id = 1, offset = 0} : tensor<7x0xf32>
  %s = executorch.alloc {memory_id = 1, offset = 96} : tensor<2xf32>
  %r = executorch.alloc bound {memory_id = 1, offset = 96} : tensor<7x0xf32>
  executorch.kernel_call "aten::abs.out"(%z) outs(%r)
  executorch.kernel_call "aten::sum.IntList_out"(%x, [0], false, none) outs(%s)
  executorch.return %s, %y, %r
}

// -----

// Places of a cache that ExecuTorch's operator writes, from a number on that is known, or not.
// CHECK-LABEL: func.func @cache
// CHECK:         %c = program.load @c : tensor<1x8x2x4xf32>
// CHECK-NEXT:    %0 = edge.slice_scatter %c, %x {dim = 1, start = 2, end = 5}
// CHECK-NEXT:    %y = edge.mul.Scalar %0 {other = 2}
// CHECK:         %[[END:.*]] = program.compute "add" %n, %{{.*}}
// CHECK-NEXT:    %[[WRITTEN:.*]] = edge.slice_scatter %0, %x {dim = 1, start = %n, end = %[[END]]}
// CHECK-NEXT:    program.store @c, %[[WRITTEN]]
// CHECK-NEXT:    func.return %y
program.buffer mutable @c : tensor<1x8x2x4xf32>
executorch.plan @cache {arenas = array<i64: 1024>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<1x3x2x4xf32>
  %t = executorch.input {memory_id = 1, offset = 960} : tensor<i64>
  %n = executorch.value 0 : i64
  %c = executorch.state @c {memory_id = 1, offset = 96} : tensor<1x8x2x4xf32>
  %y = executorch.alloc {memory_id = 1, offset = 352} : tensor<1x8x2x4xf32>
  %unused = executorch.alloc {memory_id = 1, offset = 704} : tensor<1xf32>
  executorch.kernel_call "llama::update_cache.out"(%x, %c, 2) outs(%unused)
  executorch.kernel_call "aten::mul.Scalar_out"(%c, 2) outs(%y)
  executorch.kernel_call "aten::_local_scalar_dense"(%t) returns(%n)
  executorch.kernel_call "llama::update_cache.out"(%x, %c, %n) outs(%unused)
  executorch.return %y
}

// -----

// The remainder of a size, and those of numbers that may be negative, which have the sign of the dividend.
// CHECK-LABEL: func.func @remainders
// CHECK:         %[[N:.*]] = edge.sym_size.int %x {dim = 0}
// CHECK:         %[[Q:.*]] = program.compute "floordiv" %[[N]], %[[TWO:.*]] : (i64, i64) -> i64
// CHECK-NEXT:    %[[P:.*]] = program.compute "mul" %[[Q]], %[[TWO]]
// CHECK-NEXT:    %[[R:.*]] = program.compute "sub" %[[N]], %[[P]]
// CHECK-NOT:     program.compute "ite"
// CHECK:         edge._local_scalar_dense
// CHECK:         program.compute "ite"
// CHECK:         program.literal -1 : i64
// CHECK:         func.return
executorch.plan @remainders {
  %x = executorch.input bound : tensor<8x9xf32>
  %i = executorch.input : tensor<i64>
  %n = executorch.value 0 : i64
  %m = executorch.value 0 : i64
  %k = executorch.value -7 : i64
  %q = executorch.value 0 : i64
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%n)
  executorch.kernel_call "executorch_prim::mod.Scalar"(%n, 2) returns(%n)
  executorch.kernel_call "aten::_local_scalar_dense"(%i) returns(%m)
  executorch.kernel_call "executorch_prim::mod.int"(%m, 3) returns(%m)
  executorch.kernel_call "executorch_prim::mod.Scalar"(%k, 2) returns(%q)
  executorch.return %n, %m, %q
}

// -----

// Memory that is read as another element type: of one tensor, of a part of one, and of several that an element lies in.
// CHECK-LABEL: func.func @reinterpretations
// CHECK:         %a = edge.neg %x : tensor<2x2xf32>
// CHECK-NEXT:    %[[I:.*]] = edge.view_copy.dtype %a {dtype = i32} : (tensor<2x2xf32>) -> tensor<2x2xi32>
// CHECK-NEXT:    %i = edge.neg %[[I]] : tensor<2x2xi32>
// CHECK-NEXT:    %[[FLAT:.*]] = edge.view_copy %a {size = [4]} : (tensor<2x2xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = edge.view_copy.dtype %[[FLAT]] {dtype = ui8} : (tensor<4xf32>) -> tensor<16xui8>
// CHECK-NEXT:    %[[PART:.*]] = edge.slice_copy.Tensor %[[B]] {start = 2, end = 4} : (tensor<16xui8>) -> tensor<2xui8>
// CHECK:         %[[CAT:.*]] = edge.cat
// CHECK:         edge.view_copy.dtype %[[CAT]] {dtype = i32}
executorch.plan @reinterpretations {
  %x = executorch.input : tensor<2x2xf32>
  %a = executorch.alloc : tensor<2x2xf32>
  %b = executorch.view %a : tensor<2x2xi32>
  %c = executorch.view %a from 2 : tensor<2xui8>
  %i = executorch.alloc : tensor<2x2xi32>
  %u = executorch.alloc : tensor<2xui8>
  %p = executorch.alloc : tensor<1xi32>
  %q = executorch.view %p : tensor<2xui8>
  %r = executorch.view %p from 2 : tensor<1xi16>
  %s = executorch.input : tensor<1xi16>
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.kernel_call "aten::neg.out"(%b) outs(%i)
  executorch.kernel_call "aten::clone.out"(%c, none) outs(%u)
  executorch.kernel_call "aten::clone.out"(%u, none) outs(%q)
  executorch.kernel_call "aten::neg.out"(%s) outs(%r)
  executorch.return %i, %p
}
