// RUN: et-opt -p 'copies-to-views{inputs=true},plan-memory{check=true},verify-executorch' --split-input-file %s | filecheck %s

// A part of an input whose memory the plan has is a view; one of the caller's own memory is not.
// CHECK-LABEL: executorch.plan @parts
// CHECK:       %r = executorch.view %x from 16 : tensor<1x4xf32>
// CHECK:       "aten::slice_copy.Tensor_out"(%y, 0, 1, 2, 1) outs(%s)
executorch.plan @parts {
  %x = executorch.input : tensor<2x4xf32>
  %y = executorch.input aliased : tensor<2x4xf32>
  %r = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%x, 0, 1, 2, 1) outs(%r)
  %s = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::slice_copy.Tensor_out"(%y, 0, 1, 2, 1) outs(%s)
  %t = executorch.alloc : tensor<1x4xf32>
  executorch.kernel_call "aten::add.out"(%r, %s, 1) outs(%t)
  executorch.return %t
}

// -----

// A view of the caller's memory is made at run time, which no call does as another element type.
// CHECK-LABEL: executorch.plan @reinterpretations
// CHECK:       %r = executorch.view %x : tensor<4xi32>
// CHECK:       "aten::view_copy.dtype_out"(%y, 3) outs(%s)
executorch.plan @reinterpretations {
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input aliased : tensor<4xf32>
  %r = executorch.alloc : tensor<4xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%x, 3) outs(%r)
  %s = executorch.alloc : tensor<4xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%y, 3) outs(%s)
  %t = executorch.alloc : tensor<4xi32>
  executorch.kernel_call "aten::add.out"(%r, %s, 1) outs(%t)
  executorch.return %t
}
