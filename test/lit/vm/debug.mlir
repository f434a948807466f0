// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-vm debug %t.pte --input ones --command 'break aten::mul*' --command 'watch %3' --command break --command continue --command 'print %1' --command 'poke %1[0] 0' --command continue --command 'who %3' --command 'memory 1 32 48' --command outputs --command reverse --command 'print %1' --command restart --command continue --command 'print %1' | filecheck %s

// RUN: printf 'step 2\nback\n# a comment\nwhere\nquit\nno such thing\n' | et-vm debug %t.pte --input ones | filecheck %s --check-prefix=PIPE
// RUN: not et-vm debug %t.pte --command foo --command continue 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK:      step 0
// CHECK-NEXT: ->     0  aten::add.out(%0, %0, 1) -> %1
// CHECK:      breakpoint 1: operator aten::mul*
// CHECK-NEXT: watchpoint 2: changes of %3
// CHECK-NEXT:    1  operator aten::mul*
// CHECK-NEXT:    2  changes of %3
// CHECK-NEXT: breakpoint 1: operator aten::mul*
// CHECK-NEXT: step 1
// CHECK:      ->     1  aten::mul.out(%1, %0) -> %2
// CHECK:      float32 [4]  min 2  mean 2  max 2
// CHECK-NEXT: [2. 2. 2. 2.]
// CHECK-NEXT: watchpoint 2: instruction 2 changed %3
// CHECK-NEXT: end of the execution, after 3 steps
// CHECK-NEXT:     2  writes   1×       aten::relu.out(%2) -> %3
// CHECK-NEXT: %3 was last written at step 2, by instruction 2
// CHECK-NEXT:         32  00 00 00 00 00 00 00 40  00 00 00 40 00 00 00 40
// CHECK-NEXT: output 0, %3
// CHECK-NEXT: float32 [4]  min 0  mean 1.5  max 2
// CHECK-NEXT: [0. 2. 2. 2.]
// CHECK-NEXT: breakpoint 1: operator aten::mul*
// CHECK-NEXT: step 1
// CHECK:      [0. 2. 2. 2.]
// CHECK-NEXT: step 0
// CHECK:      breakpoint 1: operator aten::mul*
// CHECK:      [2. 2. 2. 2.]

// PIPE:      step 0
// PIPE:      step 2
// PIPE:      step 1
// PIPE-NEXT:        0  aten::add.out
// PIPE:      step 1
// PIPE-NOT:  no such thing

// UNKNOWN-NOT: end of the execution
// UNKNOWN:   error: unknown command 'foo'; help lists the commands

executorch.plan @forward {arenas = array<i64: 64>, in_spec = "", out_spec = ""} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %y = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  %z = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  %out = executorch.alloc {memory_id = 1, offset = 48} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %x, 1) outs(%y)
  executorch.kernel_call "aten::mul.out"(%y, %x) outs(%z)
  executorch.kernel_call "aten::relu.out"(%z) outs(%out)
  executorch.return %out
}
