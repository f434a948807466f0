// RUN: et-opt -p 'form-chains,verify-chains' %s | filecheck %s
// RUN: et-opt -p 'form-chains{threads=1}' %s | filecheck %s --check-prefix=ONE
// RUN: et-opt -p 'form-chains{synchronization=1000}' %s | filecheck %s --check-prefix=ONE
// RUN: et-opt -p 'form-chains,plan-memory{check=true},verify-executorch,verify-chains' %s | filecheck %s --check-prefix=PLANNED

// ONE-NOT: executorch.chain

// Two products side by side; what writes over an argument of one of them waits for it.
// CHECK-LABEL: executorch.plan @products
// CHECK:      executorch.chain() outs(%b)
// CHECK-NEXT: executorch.kernel_call "aten::mm.out"(%y, %w) outs(%b)
// CHECK-NEXT: executorch.kernel_call "aten::relu.out"(%b) outs(%b)
// CHECK-NEXT: executorch.chain() outs(%a)
// CHECK-NEXT: executorch.kernel_call "aten::mm.out"(%x, %w) outs(%a)
// CHECK-NEXT: executorch.chain(%a, %b) outs(%r)
// CHECK-NEXT: executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)
// CHECK-NEXT: executorch.return %r
// Neither result is where the other chain reads; the sum is, since it waits for both.
// PLANNED: executorch.plan @products {arenas = array<i64: 1048576>}
program.parameter @w : tensor<256x256xf32>
executorch.plan @products {
  %x = executorch.input : tensor<256x256xf32>
  %y = executorch.input : tensor<256x256xf32>
  %w = executorch.constant external @w : tensor<256x256xf32>
  %a = executorch.alloc : tensor<256x256xf32>
  executorch.kernel_call "aten::mm.out"(%x, %w) outs(%a)
  %b = executorch.alloc : tensor<256x256xf32>
  executorch.kernel_call "aten::mm.out"(%y, %w) outs(%b)
  executorch.kernel_call "aten::relu.out"(%b) outs(%b)
  %r = executorch.alloc : tensor<256x256xf32>
  executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)
  executorch.return %r
}

// A chain that writes a state waits for those that read it, also where it reads nothing of theirs.
// CHECK-LABEL: executorch.plan @state
// CHECK:      executorch.chain() outs(%a)
// CHECK-NEXT: executorch.kernel_call "aten::mm.out"(%x, %s) outs(%a)
// CHECK-NEXT: executorch.chain() outs(%b)
// CHECK-NEXT: executorch.kernel_call "aten::mm.out"(%y, %y) outs(%b)
// CHECK-NEXT: executorch.chain(%b, %a)
// CHECK:      executorch.kernel_call "aten::add.out"(%b, %y, 1) outs(%s)
program.buffer mutable @s : tensor<256x256xf32>
executorch.plan @state {
  %x = executorch.input : tensor<256x256xf32>
  %y = executorch.input : tensor<256x256xf32>
  %s = executorch.state @s : tensor<256x256xf32>
  %a = executorch.alloc : tensor<256x256xf32>
  %b = executorch.alloc : tensor<256x256xf32>
  executorch.kernel_call "aten::mm.out"(%x, %s) outs(%a)
  executorch.kernel_call "aten::mm.out"(%y, %y) outs(%b)
  executorch.kernel_call "aten::add.out"(%b, %y, 1) outs(%s)
  executorch.return %a
}

// One after the other, too small to pay, drawn from one generator, or with jumps: nothing changes.
// CHECK-LABEL: executorch.plan @line
// CHECK-NOT: executorch.chain
executorch.plan @line {
  %x = executorch.input : tensor<256x256xf32>
  %a = executorch.alloc : tensor<256x256xf32>
  %b = executorch.alloc : tensor<256x256xf32>
  executorch.kernel_call "aten::mm.out"(%x, %x) outs(%a)
  executorch.kernel_call "aten::mm.out"(%a, %x) outs(%b)
  executorch.return %b
}
executorch.plan @small {
  %x = executorch.input : tensor<8x8xf32>
  %a = executorch.alloc : tensor<8x8xf32>
  %b = executorch.alloc : tensor<8x8xf32>
  executorch.kernel_call "aten::mm.out"(%x, %x) outs(%a)
  executorch.kernel_call "aten::relu.out"(%x) outs(%b)
  executorch.return %a, %b
}
executorch.plan @random {
  %x = executorch.input : tensor<1024x1024xf32>
  %a = executorch.alloc : tensor<1024x1024xf32>
  %b = executorch.alloc : tensor<1024x1024xf32>
  executorch.kernel_call "aten::rand_like.out"(%x, none) outs(%a)
  executorch.kernel_call "aten::rand_like.out"(%x, none) outs(%b)
  executorch.return %a, %b
}
executorch.plan @unknown {
  %x = executorch.input : tensor<1024x1024xf32>
  %a = executorch.alloc : tensor<1024x1024xf32>
  %b = executorch.alloc : tensor<1024x1024xf32>
  executorch.kernel_call "mylib::noise.out"(%x) outs(%a)
  executorch.kernel_call "mylib::noise.out"(%x) outs(%b)
  executorch.return %a, %b
}
executorch.plan @jumps {
  %c = executorch.input : tensor<i1>
  %x = executorch.input : tensor<256x256xf32>
  %a = executorch.alloc : tensor<256x256xf32>
  %b = executorch.alloc : tensor<256x256xf32>
  executorch.kernel_call "aten::mm.out"(%x, %x) outs(%a)
  executorch.jump_false %c, ^end, ^then
^then:
  executorch.kernel_call "aten::mm.out"(%x, %x) outs(%b)
  executorch.jump ^end
^end:
  executorch.return %a, %b
}
