// What an execution may cost: memory in bytes, work in elements visited and multiply-adds.
// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-vm run %t.pte --input ones --memory-limit 1000000 --work-limit 300000 | filecheck %s
// RUN: sh -c 'et-vm run %t.pte --memory-limit 10000; test $? = 6' 2>&1 | filecheck %s --check-prefix=MEMORY
// RUN: sh -c 'et-vm run %t.pte --work-limit 260000; test $? = 5' 2>&1 | filecheck %s --check-prefix=WORK
// RUN: et-vm validate %t.pte

// CHECK:  output 0  float32 [64, 64]{{.*}}min 64
// MEMORY: et-vm: error: {{.*}}.pte: MemoryAllocationFailed (0x21): cannot allocate 49152 bytes, 10000 are left of a limit of 10000 at memory id 1
// WORK:      et-vm: error: {{.*}}.pte: OutOfResources (0x25): the call takes 263,144 units of work, 260,000 are left of a limit of 260,000; raise the limit: --work-limit
// WORK-NEXT: in instruction 0: aten::mm.out
executorch.plan @forward {arenas = array<i64: 49152>, in_spec = "", out_spec = ""} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<64x64xf32>
  %y = executorch.input {memory_id = 1, offset = 16384} : tensor<64x64xf32>
  %out = executorch.alloc {memory_id = 1, offset = 32768} : tensor<64x64xf32>
  executorch.kernel_call "aten::mm.out"(%x, %y) outs(%out)
  executorch.return %out
}
