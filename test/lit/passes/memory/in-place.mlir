// RUN: et-opt -p 'in-place,plan-memory{check=true},verify-executorch' --split-input-file %s | filecheck %s

// A chain of pointwise kernels is one buffer, to the output.
// CHECK-LABEL: executorch.plan @chain {arenas = array<i64: 32>} {
// CHECK-NEXT:  %x = executorch.input {memory_id = 1, offset = 0}
// CHECK-NEXT:  %r = executorch.alloc {memory_id = 1, offset = 16}
// CHECK-NEXT:  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT:  executorch.kernel_call "aten::neg.out"(%r) outs(%r)
// CHECK-NEXT:  executorch.kernel_call "aten::add.out"(%x, %r, 1) outs(%r)
// CHECK-NEXT:  executorch.kernel_call "aten::mul.out"(%r, %r) outs(%r)
// CHECK-NEXT:  executorch.return %r
executorch.plan @chain {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::neg.out"(%r) outs(%a)
  %b = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %a, 1) outs(%b)
  %c = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::mul.out"(%b, %b) outs(%c)
  executorch.return %c
}

// -----

// Through a view; and the view of what was merged.
// CHECK-LABEL: executorch.plan @views
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT:  %v = executorch.view %r : tensor<2x2xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::neg.out"(%v) outs(%v)
// CHECK-NEXT:  %w = executorch.view %v : tensor<4x1xf32>
// CHECK-NEXT:  executorch.return %w
executorch.plan @views {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  %v = executorch.view %r : tensor<2x2xf32>
  %a = executorch.alloc : tensor<2x2xf32>
  executorch.kernel_call "aten::neg.out"(%v) outs(%a)
  %w = executorch.view %a : tensor<4x1xf32>
  executorch.return %w
}

// -----

// Does not fire: inputs and constants, what is needed later, another type, a kernel that moves elements, an argument that is read in
// another shape too, a register that is needed in the other branch or the next round.
// CHECK-LABEL: executorch.plan @other
// CHECK-NEXT:  %x = executorch.input
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%a)
// CHECK:       executorch.kernel_call "aten::neg.out"(%a) outs(%b)
// CHECK:       executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%b)
// CHECK:       executorch.kernel_call "aten::flip.out"(%b, [0]) outs(%d)
// CHECK:       executorch.kernel_call "aten::gt.Scalar_out"(%d, 0) outs(%e)
// CHECK:       executorch.kernel_call "aten::relu.out"(%x) outs(%f)
// CHECK:       executorch.kernel_call "aten::add.out"(%f, %g, 1) outs(%h)
// CHECK:       executorch.kernel_call "aten::mul.out"(%w, %w) outs(%i)
program.constant @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
executorch.plan @other {
  %x = executorch.input : tensor<4xf32>
  %w = executorch.constant @w : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::neg.out"(%a) outs(%b)
  %c = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%c)
  %d = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::flip.out"(%c, [0]) outs(%d)
  %e = executorch.alloc : tensor<4xi1>
  executorch.kernel_call "aten::gt.Scalar_out"(%d, 0) outs(%e)
  %f = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%f)
  %g = executorch.view %f from 4 : tensor<1xf32>
  %h = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%f, %g, 1) outs(%h)
  %i = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::mul.out"(%w, %w) outs(%i)
  executorch.return %a, %e, %h, %i
}

// -----

// CHECK-LABEL: executorch.plan @jumps
// CHECK:       executorch.kernel_call "aten::neg.out"(%carried) outs(%inner)
// CHECK:       executorch.kernel_call "aten::abs.out"(%inner) outs(%inner)
executorch.plan @jumps {
  %x = executorch.input : tensor<4xf32>
  %c = executorch.value true : i1
  %carried = executorch.alloc : tensor<4xf32>
  %inner = executorch.alloc : tensor<4xf32>
  %late = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%carried)
  executorch.jump ^body
^body:
  executorch.kernel_call "aten::neg.out"(%carried) outs(%inner)
  executorch.kernel_call "aten::abs.out"(%inner) outs(%late)
  executorch.jump_false %c, ^body, ^end
^end:
  executorch.return %late
}

// -----

// A softmax and a normalisation need no other memory; of a normalisation's arguments only the first may be replaced.
// CHECK-LABEL: executorch.plan @rows
// CHECK:       executorch.kernel_call "aten::_softmax.out"(%a, 1, false) outs(%a)
// CHECK:       executorch.kernel_call "aten::native_layer_norm.out"(%a, [4], %w, %w, 1.0e-05) outs(%a, %m, %d)
// CHECK:       executorch.kernel_call "aten::native_layer_norm.out"(%x, [4], %v, %w, 1.0e-05) outs(%e, %f, %g)
executorch.plan @rows {
  %x = executorch.input : tensor<1x4xf32>
  %w = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::_softmax.out"(%a, 1, false) outs(%b)
  %c = executorch.alloc : tensor<1x4xf32>
  %m = executorch.alloc : tensor<1x1xf32>
  %d = executorch.alloc : tensor<1x1xf32>
  executorch.kernel_call "aten::native_layer_norm.out"(%b, [4], %w, %w, 1.0e-05) outs(%c, %m, %d)
  %v = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%v)
  %e = executorch.alloc : tensor<1x4xf32>
  %f = executorch.alloc : tensor<1x1xf32>
  %g = executorch.alloc : tensor<1x1xf32>
  executorch.kernel_call "aten::native_layer_norm.out"(%x, [4], %v, %w, 1.0e-05) outs(%e, %f, %g)
  executorch.return %c, %e
}
