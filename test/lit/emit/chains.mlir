// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-translate --mlir-to-pte %s -o %t.pte && et-translate --pte-to-mlir %t.pte | filecheck %s --check-prefix=FILE
// RUN: et-translate --mlir-to-pte %s -o %t.pte && et-translate --pte-to-mlir %t.pte | et-translate --mlir-to-pte -o %t2.pte - && cmp %t.pte %t2.pte
// RUN: et-vm run %t.pte --input ones --input ones --json | filecheck %s --check-prefix=VALUES

// Jumps of the second chain count from its first instruction; one goes to its end, where the third begins.

// CHECK-LABEL: executorch.plan @forward
// CHECK:      executorch.chain() outs(%a)
// CHECK-NEXT: executorch.kernel_call "aten::neg.out"(%x) outs(%a)
// CHECK-NEXT: executorch.jump ^second
// CHECK-NEXT: ^second:
// CHECK-NEXT: executorch.chain(%c) outs(%b)

// FILE:      %r0 = executorch.input
// FILE:      executorch.chain() outs(%[[A:.*]])
// FILE-NEXT: executorch.kernel_call "aten::neg.out"(%r0) outs(%[[A]])
// FILE-NEXT: executorch.chain(%[[C:.*]]) outs(%[[B:.*]])
// FILE-NEXT: executorch.jump_false %[[C]], ^[[ELSE:.*]], ^[[THEN:.*]]
// FILE-NEXT: ^[[THEN]]:
// FILE-NEXT: executorch.kernel_call "aten::relu.out"(%r0) outs(%[[B]])
// FILE-NEXT: executorch.jump ^[[JOIN:.*]]
// FILE-NEXT: ^[[ELSE]]:
// FILE-NEXT: executorch.kernel_call "aten::neg.out"(%r0) outs(%[[B]])
// FILE-NEXT: executorch.jump ^[[JOIN]]
// FILE-NEXT: ^[[JOIN]]:
// FILE-NEXT: executorch.chain(%[[A]], %[[B]]) outs(%[[R:.*]])
// FILE-NEXT: executorch.kernel_call "aten::add.out"(%[[A]], %[[B]], 1) outs(%[[R]])
// FILE-NEXT: executorch.return %[[R]]

// VALUES:      "values": [
// VALUES-NEXT: 0.0,
executorch.plan @forward {arenas = array<i64: 80>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %c = executorch.input {memory_id = 1, offset = 64} : tensor<1xi1>
  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  %b = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  %r = executorch.alloc {memory_id = 1, offset = 48} : tensor<4xf32>
  executorch.chain() outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%a)
  executorch.jump ^second
^second:
  executorch.chain(%c) outs(%b)
  executorch.jump_false %c, ^else, ^then
^then:
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.jump ^join
^else:
  executorch.kernel_call "aten::neg.out"(%x) outs(%b)
  executorch.jump ^join
^join:
  executorch.chain(%a, %b) outs(%r)
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)
  executorch.return %r
}
