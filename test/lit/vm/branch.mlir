// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-vm run %t.pte --input ones | filecheck %s --check-prefix=TRUE
// RUN: et-vm run %t.pte --input ones --poison | filecheck %s --check-prefix=TRUE
// RUN: et-vm info %t.pte | filecheck %s --check-prefix=INFO

// x + x if flag else x * x * x, through moves.
// TRUE: [2, 2, 2, 2]
// INFO: jump_false
// INFO: move
executorch.plan @forward {arenas = array<i64: 112>, in_spec = "", out_spec = ""} {
  %flag = executorch.input {memory_id = 1, offset = 0} : tensor<i1>
  %x = executorch.input {memory_id = 1, offset = 16} : tensor<4xf32>
  %result = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  %then = executorch.alloc {memory_id = 1, offset = 48} : tensor<4xf32>
  %square = executorch.alloc {memory_id = 1, offset = 64} : tensor<4xf32>
  %else = executorch.alloc {memory_id = 1, offset = 80} : tensor<4xf32>
  %out = executorch.alloc {memory_id = 1, offset = 96} : tensor<4xf32>
  executorch.jump_false %flag, ^otherwise, ^holds
^holds:
  executorch.kernel_call "aten::add.out"(%x, %x, 1) outs(%then)
  executorch.move %then to %result
  executorch.jump ^end
^otherwise:
  executorch.kernel_call "aten::mul.out"(%x, %x) outs(%square)
  executorch.kernel_call "aten::mul.out"(%square, %x) outs(%else)
  executorch.move %else to %result
  executorch.jump ^end
^end:
  executorch.kernel_call "aten::relu.out"(%result) outs(%out)
  executorch.return %out
}
