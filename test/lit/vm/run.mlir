// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-vm validate %t.pte --kernels portable
// RUN: et-vm run %t.pte --input ones | filecheck %s --check-prefix=OUT
// RUN: et-vm run %t.pte --input ones --poison | filecheck %s --check-prefix=OUT
// RUN: et-vm info %t.pte | filecheck %s --check-prefix=INFO

// OUT:      forward: 2 instructions, portable kernels
// OUT:      input 0 {{ +}}float32 [4]
// OUT:      output 0 {{ +}}float32 [4]
// OUT-NEXT: [22, 32, 42, 52]

// INFO:      method forward: 2 instructions
// INFO-NEXT: input 0 {{ +}}float32 [4]
// INFO-NEXT: output 0 {{ +}}float32 [4]
// INFO-NEXT: arena 1 {{ +}}48 bytes
// INFO-NEXT: 2  aten::add.out
// INFO:      1 weight: 16 bytes
program.constant @weight : tensor<4xf32> = #program.data<f32, [10.0, 15.0, 20.0, 25.0]>
executorch.plan @forward {arenas = array<i64: 48>, in_spec = "", out_spec = ""} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %w = executorch.constant anonymous @weight : tensor<4xf32>
  %sum = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  %out = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%w, %x, 1) outs(%sum)
  executorch.kernel_call "aten::add.out"(%sum, %sum, 1) outs(%out)
  executorch.return %out
}
