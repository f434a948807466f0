// RUN: et-opt -p 'concatenate-in-place,plan-memory{check=true},verify-executorch' --split-input-file %s | filecheck %s

// What has memory of its own is computed in its place, views of it follow; the input is copied to its own.
// CHECK-LABEL: executorch.plan @channels {arenas = array<i64: 12288>} {
// CHECK:       %c = executorch.alloc {{.*}} : tensor<1x32x8x8xf32>
// CHECK-NEXT:  %a = executorch.view %c : tensor<1x16x8x8xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
// CHECK-NEXT:  %v = executorch.view %a : tensor<16x64xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::neg.out"(%v) outs(%v)
// CHECK-NEXT:  %[[Y:.*]] = executorch.view %c from 4096 : tensor<1x16x8x8xf32>
// CHECK-NEXT:  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%x, false, [0, 1, 2, 3]) outs(%[[Y]])
// CHECK-NEXT:  executorch.return %c
executorch.plan @channels {
  %x = executorch.input : tensor<1x16x8x8xf32>
  %a = executorch.alloc : tensor<1x16x8x8xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %v = executorch.view %a : tensor<16x64xf32>
  executorch.kernel_call "aten::neg.out"(%v) outs(%v)
  %c = executorch.alloc : tensor<1x32x8x8xf32>
  executorch.kernel_call "aten::cat.out"([%a, %x], 1) outs(%c)
  executorch.return %c
}

// -----

// One in another, channels last. What is concatenated is read afterwards, too, by what writes elsewhere.
// CHECK-LABEL: executorch.plan @nested
// CHECK:       %d = executorch.alloc
// CHECK-NEXT:  %c = executorch.view %d : tensor<8x1x1x2xf32
// CHECK-NEXT:  %a = executorch.view %c : tensor<8x1x1x1xf32
// CHECK-NEXT:  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
// CHECK-NEXT:  %b = executorch.view %c from 32 : tensor<8x1x1x1xf32
// CHECK-NEXT:  executorch.kernel_call "aten::exp.out"(%x) outs(%b)
// CHECK-NEXT:  %e = executorch.view %d from 64 : tensor<8x1x1x1xf32
// CHECK-NEXT:  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%e)
// CHECK-NEXT:  executorch.return %d
executorch.plan @nested {
  %x = executorch.input : tensor<8x1x1x1xf32, #edge.dim_order<3, 0, 1, 2>>
  %a = executorch.alloc : tensor<8x1x1x1xf32, #edge.dim_order<3, 0, 1, 2>>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<8x1x1x1xf32, #edge.dim_order<3, 0, 1, 2>>
  executorch.kernel_call "aten::exp.out"(%x) outs(%b)
  %c = executorch.alloc : tensor<8x1x1x2xf32, #edge.dim_order<3, 0, 1, 2>>
  executorch.kernel_call "aten::cat.out"([%a, %b], 3) outs(%c)
  %e = executorch.alloc : tensor<8x1x1x1xf32, #edge.dim_order<3, 0, 1, 2>>
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%e)
  %d = executorch.alloc : tensor<8x1x1x3xf32, #edge.dim_order<3, 0, 1, 2>>
  executorch.kernel_call "aten::cat.out"([%c, %e], -1) outs(%d)
  executorch.return %d
}

// -----

// A part that is computed early is copied: in its place, the concatenation would be needed beside %w.
// CHECK-LABEL: executorch.plan @early {arenas = array<i64: 1152>} {
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%a)
// CHECK:       %c = executorch.alloc
// CHECK-NEXT:  %b = executorch.view %c from 64
// CHECK-NEXT:  executorch.kernel_call "aten::repeat.out"(%s, [112]) outs(%b)
// CHECK:       executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%a, false, [0]) outs
executorch.plan @early {
  %x = executorch.input : tensor<16xf32>
  %a = executorch.alloc : tensor<16xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %w = executorch.alloc : tensor<256xf32>
  executorch.kernel_call "aten::repeat.out"(%x, [16]) outs(%w)
  %s = executorch.alloc : tensor<1xf32>
  executorch.kernel_call "aten::amax.out"(%w, [0], true) outs(%s)
  %b = executorch.alloc : tensor<112xf32>
  executorch.kernel_call "aten::repeat.out"(%s, [112]) outs(%b)
  %c = executorch.alloc : tensor<128xf32>
  executorch.kernel_call "aten::cat.out"([%a, %b], 0) outs(%c)
  executorch.return %c
}

// -----

// Does not fire: an inner dimension, a place that is not aligned, what is concatenated twice or only in part, what is
// needed while the concatenation is changed.
// CHECK-LABEL: executorch.plan @stays
// CHECK:       "aten::cat.out"([%a, %a], 1) outs(%b)
// CHECK:       "aten::cat.out"([%i, %o], 0) outs(%p)
// CHECK:       "aten::cat.out"([%v, %x], 0) outs(%c)
// CHECK:       "aten::cat.out"([%e, %x], 0) outs(%f)
executorch.plan @stays {
  %x = executorch.input : tensor<2x4xf32>
  %i = executorch.input : tensor<1xf32>
  %a = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<2x8xf32>
  executorch.kernel_call "aten::cat.out"([%a, %a], 1) outs(%b)
  %o = executorch.alloc : tensor<1xf32>
  executorch.kernel_call "aten::relu.out"(%i) outs(%o)
  %p = executorch.alloc : tensor<2xf32>
  executorch.kernel_call "aten::cat.out"([%i, %o], 0) outs(%p)
  %w = executorch.alloc : tensor<4x4xf32>
  executorch.kernel_call "aten::repeat.out"(%x, [2, 1]) outs(%w)
  %v = executorch.view %w : tensor<2x4xf32>
  %c = executorch.alloc : tensor<4x4xf32>
  executorch.kernel_call "aten::cat.out"([%v, %x], 0) outs(%c)
  %e = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%e)
  %f = executorch.alloc : tensor<4x4xf32>
  executorch.kernel_call "aten::cat.out"([%e, %x], 0) outs(%f)
  executorch.kernel_call "aten::neg.out"(%f) outs(%f)
  executorch.return %b, %p, %c, %e, %f
}

// -----

// Across blocks.
// CHECK-LABEL: executorch.plan @blocks
// CHECK:       "aten::cat.out"([%a, %x], 0) outs(%c)
executorch.plan @blocks {
  %x = executorch.input : tensor<4xf32>
  %k = executorch.value true : i1
  %a = executorch.alloc : tensor<4xf32>
  %c = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  executorch.jump ^next
^next:
  executorch.kernel_call "aten::cat.out"([%a, %x], 0) outs(%c)
  executorch.jump_false %k, ^next, ^end
^end:
  executorch.return %c
}
