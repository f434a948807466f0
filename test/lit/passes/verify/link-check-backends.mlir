// Backends that the target does not have are found when the program is compiled, each once, beside missing kernels.
// RUN: not et-opt -p link-check %s 2>&1 | filecheck %s
// RUN: not et-opt -p 'link-check{target=et-vm extra="my::relu.out"}' %s 2>&1 | filecheck %s --check-prefix VM
// RUN: not et-opt -p 'link-check{backends="NestedProgramBackend","Tiles" extra="my::tanh.out"}' %s 2>&1 | filecheck %s --check-prefix KERNEL
// RUN: et-opt -p 'link-check{backends="NestedProgramBackend","Tiles" extra="my::relu.out"}' %s -o %t.mlir

// CHECK: error: 'executorch.delegate_call': 'stock-{{[0-9.]+}}' has no backend Tiles, it has: {{.*}}XnnpackBackend (2 calls)
// CHECK: fix: if your runtime has it, declare it with --extra-backends Tiles
// CHECK-NOT: has no backend Tiles
// CHECK: error: 'executorch.delegate_call': 'stock-{{[0-9.]+}}' has no backend NestedProgramBackend, it has: {{.*}} (1 call)
// CHECK: fix: compile for a target that has it: et-vm or et-vm-aten; or if your runtime has it, declare it with --extra-backends NestedProgramBackend
// CHECK: error: 'my::relu.out'

// VM: error: 'executorch.delegate_call': 'et-vm' has no backend Tiles, it has: {{.*}}NativeBackend, {{.*}}XnnpackBackend (2 calls)
// VM: fix: load its runtime part with --load FILE, or declare it with --extra-backends Tiles
// VM-NOT: error

// KERNEL-NOT: has no backend
// KERNEL: error: 'my::relu.out'

backend.lowered @a "XnnpackBackend" = #program.data<ui8, [1]>
backend.lowered @b "Tiles" = #program.data<ui8, [1]>
backend.lowered @c "Tiles" = #program.data<ui8, [2]>
backend.lowered @d "NestedProgramBackend" = #program.data<ui8, [1]>
executorch.plan @forward {
  %x = executorch.input : tensor<4xf32>
  %r = executorch.alloc : tensor<4xf32>
  executorch.delegate_call @a(%x) outs(%r)
  executorch.kernel_call "my::relu.out"(%x) outs(%r)
  executorch.delegate_call @b(%x) outs(%r)
  executorch.delegate_call @c(%x) outs(%r)
  executorch.delegate_call @d(%x) outs(%r)
  executorch.return %r
}
