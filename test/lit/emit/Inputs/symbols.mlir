program.parameter @empty : tensor<4xf32>
executorch.plan @forward {arenas = array<i64>} {
  %a = executorch.constant @nowhere : tensor<4xf32>
  %b = executorch.constant @empty : tensor<4xf32>
  %c = executorch.input : tensor<4xf32>
  %d = executorch.view %c : tensor<2x2xf32>
  executorch.delegate_call @nobody(%d)
  executorch.return
}
