// RUN: sh -c 'et-opt -p plan-memory %s; test $? = 6' 2>&1 | filecheck %s
// RUN: et-opt '-pplan-memory{memory="main:id=1,size=150G"}' %s | filecheck %s --check-prefix=ASKED

// CHECK: error: 'executorch.input': arena 1 needs 160000000000 bytes, 80000000000 of them for this tensor<200000x100000xf32>
// CHECK: fix: compile it for smaller inputs, or with lower bounds of dynamic sizes; to plan such an arena: --memory 'main:id=1,size=150G'

// ASKED: executorch.plan @forward {arenas = array<i64: 160000000000>
executorch.plan @forward {
  %x = executorch.input : tensor<200000x100000xf32>
  %0 = executorch.alloc : tensor<200000x100000xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%0)
  executorch.return %0
}
