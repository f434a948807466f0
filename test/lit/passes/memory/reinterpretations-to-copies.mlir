// RUN: et-opt -p 'reinterpretations-to-copies,plan-memory{check=true},verify-executorch' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'reinterpretations-to-copies{target=et-vm}' --split-input-file %s | filecheck %s --check-prefix KERNEL

// The copy writes elements of the argument's type.
// CHECK-LABEL: executorch.plan @copies
// CHECK:       %r = executorch.alloc {memory_id = 1, offset = [[R:[0-9]+]]} : tensor<4x2xui8>
// CHECK-NEXT:  %[[V:.*]] = executorch.view %r : tensor<4xi16>
// CHECK-NEXT:  executorch.kernel_call "aten::view_copy.out"(%x, [4]) outs(%[[V]])
// CHECK-NEXT:  executorch.return %r
// KERNEL:      "aten::view_copy.dtype_out"(%x, 0) outs(%r)
executorch.plan @copies {
  %x = executorch.input aliased : tensor<4xi16>
  %r = executorch.alloc : tensor<4x2xui8>
  executorch.kernel_call "aten::view_copy.dtype_out"(%x, 0) outs(%r)
  executorch.return %r
}

// -----

// There are no planned views of the caller's memory.
// CHECK-LABEL: executorch.plan @into_an_input
// CHECK:       %[[T:.*]] = executorch.alloc {memory_id = 1, offset = [[#]]} : tensor<4xi32>
// CHECK-NEXT:  %[[V:.*]] = executorch.view %[[T]] : tensor<4xf32>
// CHECK:       executorch.kernel_call "aten::view_copy.out"(%x, [4]) outs(%[[V]])
// CHECK-NEXT:  executorch.kernel_call "aten::view_copy.out"(%[[T]], [4]) outs(%y)
executorch.plan @into_an_input {
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input aliased : tensor<4xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%x, 3) outs(%y)
  executorch.return %x
}

// -----

// Does not fire: what has a largest size only, and another layout.
// CHECK-LABEL: executorch.plan @stays
// CHECK:       "aten::view_copy.dtype_out"(%x, 3) outs(%r)
// CHECK:       "aten::view_copy.dtype_out"(%y, 3) outs(%s)
executorch.plan @stays {
  %x = executorch.input bound : tensor<4xf32>
  %y = executorch.input : tensor<2x2xf32, #edge.dim_order<1, 0>>
  %r = executorch.alloc bound : tensor<4xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%x, 3) outs(%r)
  %s = executorch.alloc : tensor<2x2xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%y, 3) outs(%s)
  executorch.return %r, %s
}
