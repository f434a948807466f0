// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-vm run %t.pte --input ones | filecheck %s --check-prefix=PLAIN
// RUN: et-vm run %t.pte --input ones --poison | filecheck %s --check-prefix=POISON

// RUN: not et-vm validate %t.pte 2>&1 | filecheck %s --check-prefix=CLASH

// CLASH: instruction 1 (aten::relu.out) of forward writes value 2 over live bytes of value 1

// %b lies in the bytes of %a, which is read after it. Without poison the result looks like one.
// PLAIN:  [2.5, 2.5]
// POISON: [nan, nan]
executorch.plan @forward {arenas = array<i64: 64>, in_spec = "", out_spec = ""} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<2xf32>
  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<2xf32>
  %b = executorch.alloc {memory_id = 1, offset = 16} : tensor<2xf32>
  %c = executorch.alloc {memory_id = 1, offset = 32} : tensor<2xf32>
  %out = executorch.alloc {memory_id = 1, offset = 48} : tensor<2xf32>
  executorch.kernel_call "aten::add.out"(%x, %x, 1) outs(%a)
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.kernel_call "aten::add.out"(%b, %b, 0.25) outs(%c)
  executorch.kernel_call "aten::add.out"(%a, %c, 1.2) outs(%out)
  executorch.return %out
}
