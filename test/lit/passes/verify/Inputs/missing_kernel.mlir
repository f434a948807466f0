executorch.plan @unknown {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.no_such_out"(%x, %x, 1) outs(%r)
  executorch.kernel_call "aten::lgamma.out"(%x) outs(%r)
  %i = executorch.alloc : tensor<4xi32>
  executorch.kernel_call "aten::view_copy.dtype_out"(%x, 3) outs(%i)
  executorch.return %r
}
