// RUN: et-opt -p copies-to-views --split-input-file %s | filecheck %s

// Shapes over the same elements, views of views, outputs.
// CHECK-LABEL: executorch.plan @shapes
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT:  %a = executorch.view %r : tensor<8xf32>
// CHECK-NEXT:  %b = executorch.view %r : tensor<1x8xf32>
// CHECK-NEXT:  %c = executorch.view %r : tensor<2x4xf32>
// CHECK-NEXT:  executorch.return %b, %c, %r
executorch.plan @shapes {
  %x = executorch.input : tensor<2x4xf32>
  %r = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  %a = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::view_copy.out"(%r, [-1]) outs(%a)
  %b = executorch.alloc : tensor<1x8xf32>
  executorch.kernel_call "aten::unsqueeze_copy.out"(%a, 0) outs(%b)
  %c = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%r, false, [0, 1]) outs(%c)
  executorch.return %b, %c, %r
}

// -----

// Parts along the outermost dimension.
// CHECK-LABEL: executorch.plan @parts
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT:  %a = executorch.view %r from 48 : tensor<1x1x4xf32>
// CHECK-NEXT:  %b = executorch.view %r from 16 : tensor<1x4xf32>
// CHECK:       executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%sum)
executorch.plan @parts {
  %x = executorch.input : tensor<1x4x4xf32>
  %r = executorch.alloc : tensor<1x4x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  %a = executorch.alloc : tensor<1x1x4xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%r, 1, -1, 9223372036854775807, 1) outs(%a)
  %b = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::select_copy.int_out"(%r, 1, 1) outs(%b)
  %sum = executorch.alloc : tensor<1x1x4xf32>
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%sum)
  executorch.return %sum
}

// -----

// Permutations that move dimensions of size 1 only, and one to another layout that leaves the bytes where they are.
// CHECK-LABEL: executorch.plan @permutations
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT:  %a = executorch.view %r : tensor<4x1x2xf32>
// CHECK-NEXT:  %b = executorch.view %r : tensor<2x4x1xf32, #edge.dim_order<1, 0, 2>>
// CHECK-NEXT:  %c = executorch.view %r : tensor<4x1x2xf32>
executorch.plan @permutations {
  %x = executorch.input : tensor<1x4x2xf32>
  %r = executorch.alloc : tensor<1x4x2xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  %a = executorch.alloc : tensor<4x1x2xf32>
  executorch.kernel_call "aten::permute_copy.out"(%r, [1, 0, 2]) outs(%a)
  %b = executorch.alloc : tensor<2x4x1xf32, #edge.dim_order<1, 0, 2>>
  executorch.kernel_call "aten::permute_copy.out"(%r, [2, 1, 0]) outs(%b)
  %c = executorch.alloc : tensor<4x1x2xf32>
  executorch.kernel_call "aten::transpose_copy.int_out"(%r, 0, -2) outs(%c)
  executorch.return %a, %b, %c
}

// -----

// Constants and inputs.
// CHECK-LABEL: executorch.plan @sources
// CHECK:       %w = executorch.constant anonymous @w : tensor<2x4xf32>
// CHECK-NEXT:  %a = executorch.constant anonymous @w : tensor<8xf32>
// CHECK-NEXT:  %b = executorch.view %x : tensor<8xf32>
// CHECK:       executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%sum)
program.constant @w : tensor<2x4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>
executorch.plan @sources {
  %x = executorch.input : tensor<2x4xf32>
  %w = executorch.constant anonymous @w : tensor<2x4xf32>
  %a = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::view_copy.out"(%w, [8]) outs(%a)
  %b = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::view_copy.out"(%x, [8]) outs(%b)
  %sum = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%sum)
  executorch.return %sum
}

// -----

// A leading part of an input that is the caller's memory: a view at run time would be of all elements.
// CHECK-LABEL: executorch.plan @leading_part
// CHECK:       executorch.kernel_call "aten::slice_copy.Tensor_out"(%x, 0, 0, 1, 1) outs(%a)
// CHECK:       executorch.kernel_call "aten::select_copy.int_out"(%x, 0, 0) outs(%b)
executorch.plan @leading_part {
  %x = executorch.input : tensor<2x4xf32>
  %a = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%x, 0, 0, 1, 1) outs(%a)
  %b = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::select_copy.int_out"(%x, 0, 0) outs(%b)
  %sum = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%sum)
  executorch.return %sum
}

// -----

// With jumps, a view stands with the other registers.
// CHECK-LABEL: executorch.plan @jumps
// CHECK:       %r = executorch.alloc : tensor<2x4xf32>
// CHECK-NEXT:  %a = executorch.view %r : tensor<8xf32>
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT:  executorch.kernel_call "aten::relu.out"(%a) outs(%out)
executorch.plan @jumps {
  %x = executorch.input : tensor<2x4xf32>
  %c = executorch.value true : i1
  %r = executorch.alloc : tensor<2x4xf32>
  %a = executorch.alloc : tensor<8xf32>
  %out = executorch.alloc : tensor<8xf32>
  executorch.jump_false %c, ^end, ^then
^then:
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  executorch.kernel_call "aten::view_copy.out"(%r, [8]) outs(%a)
  executorch.kernel_call "aten::relu.out"(%a) outs(%out)
  executorch.jump ^end
^end:
  executorch.return %out
}

// -----

// Dynamic tensors: a view at run time, also as an output; what else they may be views of stays.
// CHECK-LABEL: executorch.plan @dynamic
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%y)
// CHECK-NEXT:  %a = executorch.view bound %y : tensor<2x4xf32>
// CHECK:       executorch.kernel_call "executorch_prim::et_view.default"(%y, [2, %n]) returns(%a)
// CHECK:       executorch.kernel_call "aten::unsqueeze_copy.out"(%y, 0) outs(%b)
// CHECK:       executorch.kernel_call "executorch_prim::et_view.default"(%y, [4, %n]) returns(%c)
// CHECK:       executorch.kernel_call "aten::view_copy.out"(%y, [8]) outs(%u)
executorch.plan @dynamic {
  %x = executorch.input : tensor<8xf32>
  %n = executorch.input 4 : i64
  %y = executorch.alloc bound : tensor<8xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%y)
  %a = executorch.alloc bound : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%y, [2, %n]) outs(%a)
  %b = executorch.alloc bound : tensor<1x8xf32>
  executorch.kernel_call "aten::unsqueeze_copy.out"(%y, 0) outs(%b)
  %c = executorch.alloc bound : tensor<4x2xf32>
  executorch.kernel_call "aten::view_copy.out"(%y, [4, %n]) outs(%c)
  %u = executorch.alloc unbound : tensor<8xf32>
  executorch.kernel_call "aten::view_copy.out"(%y, [8]) outs(%u)
  %d = executorch.alloc bound : tensor<2x4xf32>
  executorch.kernel_call "aten::relu.out"(%a) outs(%d)
  executorch.return %c, %d
}

// -----

// A clone has the sizes that its argument has at run time, so it becomes that register, not another view.
// CHECK-LABEL: executorch.plan @clone_of_dynamic
// CHECK:       %a = executorch.view bound %y : tensor<2x4xf32>
// CHECK:       executorch.kernel_call "executorch_prim::et_view.default"(%y, [2, %n]) returns(%a)
// CHECK-NOT:   executorch.view
// CHECK:       executorch.kernel_call "aten::relu.out"(%a) outs(%c)
executorch.plan @clone_of_dynamic {
  %x = executorch.input : tensor<8xf32>
  %n = executorch.input 4 : i64
  %y = executorch.alloc bound : tensor<8xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%y)
  %a = executorch.alloc bound : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%y, [2, %n]) outs(%a)
  %b = executorch.alloc bound : tensor<2x4xf32>
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%a, false, [0, 1]) outs(%b)
  %c = executorch.alloc bound : tensor<2x4xf32>
  executorch.kernel_call "aten::relu.out"(%b) outs(%c)
  executorch.return %c
}

// -----

// Does not fire: bytes that move, another dtype, gaps, an unaligned start.
// CHECK-LABEL: executorch.plan @other_bytes
// CHECK-COUNT-5: executorch.kernel_call "aten::{{permute|slice|select|expand}}_copy
// CHECK:         _to_dim_order_copy.out
// CHECK-NOT:     executorch.view
executorch.plan @other_bytes {
  %x = executorch.input : tensor<2x4xf32>
  %r = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  %a = executorch.alloc : tensor<4x2xf32>
  executorch.kernel_call "aten::permute_copy.out"(%r, [1, 0]) outs(%a)
  %b = executorch.alloc : tensor<2x2xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%r, 1, 0, 2, 1) outs(%b)
  %c = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%r, 0, 0, 2, 2) outs(%c)
  %d = executorch.alloc : tensor<2x2xf32>
  executorch.kernel_call "aten::select_copy.int_out"(%a, 0, 1) outs(%d)
  %e = executorch.alloc : tensor<3x2x4xf32>
  executorch.kernel_call "aten::expand_copy.out"(%r, [3, 2, 4], false) outs(%e)
  %f = executorch.alloc : tensor<2x4xf64>
  executorch.kernel_call "dim_order_ops::_to_dim_order_copy.out"(%r, false, [0, 1]) outs(%f)
  executorch.return %b, %c, %d, %e, %f
}

// -----

// Does not fire: the memory is written again, or may be somebody else's.
// CHECK-LABEL: executorch.plan @unsound
// CHECK-COUNT-4: aten::view_copy.out
// CHECK-NOT:     executorch.view
program.buffer mutable @s : tensor<8xf32>
executorch.plan @unsound {
  %x = executorch.input : tensor<8xf32>
  %s = executorch.state @s : tensor<8xf32>
  %r = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  // The base is written twice.
  %a = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%r, [2, 4]) outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%r)
  // The result is written in place.
  %q = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::relu.out"(%a) outs(%q)
  %b = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%q, [2, 4]) outs(%b)
  executorch.kernel_call "aten::copy_"(%b, %a, false) returns(%b)
  // State is written later.
  %c = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%s, [2, 4]) outs(%c)
  executorch.kernel_call "aten::copy_"(%s, %q, false) returns(%s)
  // An output that would be an input.
  %d = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%x, [2, 4]) outs(%d)
  executorch.return %a, %b, %c, %d
}

// -----

// Does not fire: what is moved to refers to other memory than its own; a loop brings the writer round again before the
// result of the last round is read.
// CHECK-LABEL: executorch.plan @loops
// CHECK-COUNT-2: aten::view_copy.out
// CHECK-NOT:     executorch.view
executorch.plan @loops {
  %x = executorch.input : tensor<8xf32>
  %c = executorch.value true : i1
  %r = executorch.alloc : tensor<8xf32>
  %m = executorch.alloc : tensor<8xf32>
  %a = executorch.alloc : tensor<2x4xf32>
  %b = executorch.alloc : tensor<2x4xf32>
  %q = executorch.alloc : tensor<2x4xf32>
  executorch.jump ^loop
^loop:
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  executorch.kernel_call "aten::neg.out"(%a) outs(%q)
  executorch.kernel_call "aten::view_copy.out"(%r, [2, 4]) outs(%a)
  executorch.move %r to %m
  executorch.kernel_call "aten::view_copy.out"(%m, [2, 4]) outs(%b)
  executorch.jump_false %c, ^loop, ^end
^end:
  executorch.return %q, %b
}

// -----

// In a loop, where each round writes the argument before the result is read; also of what is moved from.
// CHECK-LABEL: executorch.plan @rounds
// CHECK:       %r = executorch.alloc : tensor<8xf32>
// CHECK:       %a = executorch.view %r : tensor<2x4xf32>
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT:  executorch.move %r to %m
// CHECK:       executorch.return %a, %m
executorch.plan @rounds {
  %x = executorch.input : tensor<8xf32>
  %c = executorch.value true : i1
  %r = executorch.alloc : tensor<8xf32>
  %m = executorch.alloc : tensor<8xf32>
  %a = executorch.alloc : tensor<2x4xf32>
  executorch.jump ^loop
^loop:
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  executorch.kernel_call "aten::view_copy.out"(%r, [2, 4]) outs(%a)
  executorch.move %r to %m
  executorch.jump_false %c, ^loop, ^end
^end:
  executorch.return %a, %m
}

// -----

// Does not fire: what refers to the argument is written, too.
// CHECK-LABEL: executorch.plan @by_another_name
// CHECK:       aten::view_copy.out
executorch.plan @by_another_name {
  %x = executorch.input : tensor<8xf32>
  %r = executorch.alloc : tensor<8xf32>
  %m = executorch.reference : tensor<8xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  %a = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%r, [2, 4]) outs(%a)
  executorch.move %r to %m
  executorch.kernel_call "aten::neg.out"(%x) outs(%m)
  executorch.return %a, %m
}

// -----

// State may be viewed for as long as it is not written.
// CHECK-LABEL: executorch.plan @before_it_is_written
// CHECK:       %v = executorch.view %s : tensor<2x4xf32>
// CHECK:       executorch.kernel_call "aten::neg.out"(%v) outs(%r)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%s, %x, false) returns(%s)
program.buffer mutable @s : tensor<8xf32>
executorch.plan @before_it_is_written {
  %x = executorch.input : tensor<8xf32>
  %s = executorch.state @s : tensor<8xf32>
  %v = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::view_copy.out"(%s, [2, 4]) outs(%v)
  %r = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::neg.out"(%v) outs(%r)
  executorch.kernel_call "aten::copy_"(%s, %x, false) returns(%s)
  executorch.return %r
}

// -----

// Splits along the outermost dimension; those along another, and parts that do not start at a multiple of 16 bytes, stay.
// CHECK-LABEL: executorch.plan @splits
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%a)
// CHECK-NEXT:  %p = executorch.view %a : tensor<1x1x2x4xf32>
// CHECK-NEXT:  %q = executorch.view %a from 32 : tensor<1x1x2x4xf32>
// CHECK-NEXT:  %b = executorch.view %a : tensor<1x2x4xf32>
// CHECK-NEXT:  %c = executorch.view %a from 32 : tensor<1x2x4xf32>
// CHECK:       "aten::split_copy.Tensor_out"(%a, 2, 3) outs([%d, %e])
// CHECK:       "aten::unbind_copy.int_out"(%g, 0) outs([%h, %i])
executorch.plan @splits {
  %x = executorch.input : tensor<1x2x2x4xf32>
  %y = executorch.input : tensor<2x3xf32>
  %a = executorch.alloc : tensor<1x2x2x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %p = executorch.alloc : tensor<1x1x2x4xf32>
  %q = executorch.alloc : tensor<1x1x2x4xf32>
  executorch.kernel_call "aten::split_with_sizes_copy.out"(%a, [1, 1], 1) outs([%p, %q])
  %b = executorch.alloc : tensor<1x2x4xf32>
  %c = executorch.alloc : tensor<1x2x4xf32>
  executorch.kernel_call "aten::unbind_copy.int_out"(%a, -3) outs([%b, %c])
  %d = executorch.alloc : tensor<1x2x2x2xf32>
  %e = executorch.alloc : tensor<1x2x2x2xf32>
  executorch.kernel_call "aten::split_copy.Tensor_out"(%a, 2, 3) outs([%d, %e])
  %g = executorch.alloc : tensor<2x3xf32>
  executorch.kernel_call "aten::relu.out"(%y) outs(%g)
  %h = executorch.alloc : tensor<3xf32>
  %i = executorch.alloc : tensor<3xf32>
  executorch.kernel_call "aten::unbind_copy.int_out"(%g, 0) outs([%h, %i])
  %j = executorch.alloc : tensor<1x1x2x4xf32>
  executorch.kernel_call "aten::add.out"(%p, %q, 1) outs(%j)
  executorch.return %j, %b, %c, %d, %e, %h, %i
}

// -----

// The same bytes as elements of another type, wider and narrower ones, also of a constant.
// CHECK-LABEL: executorch.plan @reinterpretations
// CHECK:       executorch.kernel_call "aten::neg.out"(%x) outs(%a)
// CHECK-NEXT:  %b = executorch.view %a : tensor<2x4xi32>
// CHECK-NEXT:  %c = executorch.view %a : tensor<2x16xui8>
// CHECK-NEXT:  %v = executorch.view %a : tensor<2x2x2xf32>
// CHECK-NEXT:  %d = executorch.view %a : tensor<2x2xcomplex<f32>>
// CHECK-NEXT:  %w = executorch.constant @w : tensor<4xf32>
// CHECK-NEXT:  %i = executorch.constant @w : tensor<4xi32>
program.constant @w : tensor<4xf32>
executorch.plan @reinterpretations {
  %x = executorch.input : tensor<2x4xf32>
  %a = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<2x4xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%a, 3) outs(%b)
  %c = executorch.alloc : tensor<2x16xui8>
  executorch.kernel_call "aten::view_copy.dtype_out"(%b, 0) outs(%c)
  %v = executorch.alloc : tensor<2x2x2xf32>
  executorch.kernel_call "aten::view_copy.out"(%a, [2, 2, 2]) outs(%v)
  %d = executorch.alloc : tensor<2x2xcomplex<f32>>
  executorch.kernel_call "aten::view_as_complex_copy.out"(%v) outs(%d)
  %w = executorch.constant @w : tensor<4xf32>
  %i = executorch.alloc : tensor<4xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%w, 3) outs(%i)
  %j = executorch.alloc : tensor<2x4xi32>
  executorch.kernel_call "aten::add.out"(%b, %i, 1) outs(%j)
  executorch.return %j, %c, %d
}
