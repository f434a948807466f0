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
