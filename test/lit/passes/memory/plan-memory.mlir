// RUN: et-opt -p 'plan-memory{check=true}' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'plan-memory,plan-memory{check=true}' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'plan-memory{algorithm=naive check=true}' --split-input-file %s | filecheck %s --check-prefix=NAIVE
// RUN: et-opt -p 'plan-memory{plan-inputs=false plan-outputs=false}' --split-input-file %s | filecheck %s --check-prefix=CALLER
// RUN: et-opt -p 'plan-memory{alignment=64}' --split-input-file %s | filecheck %s --check-prefix=ALIGNED

// A chain: two buffers are enough.
// CHECK-LABEL: executorch.plan @chain {arenas = array<i64: 32>} {
// CHECK-NEXT:  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
// CHECK:       %b = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
// CHECK:       %c = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
// NAIVE-LABEL: executorch.plan @chain {arenas = array<i64: 64>} {
// CALLER-LABEL: executorch.plan @chain {arenas = array<i64: 32>} {
// CALLER-NEXT:  %x = executorch.input : tensor<4xf32>
// CALLER:       %c = executorch.alloc : tensor<4xf32>
// ALIGNED-LABEL: executorch.plan @chain {arenas = array<i64: 128>} {
// ALIGNED:       %a = executorch.alloc {memory_id = 1, offset = 64}
executorch.plan @chain {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::neg.out"(%a) outs(%b)
  %c = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::abs.out"(%b) outs(%c)
  %unused = executorch.alloc : tensor<1024xf32>
  executorch.return %c
}

// -----

// A view keeps the memory that it shares needed; at run time it is one of an input that the caller gives.
// CHECK-LABEL: executorch.plan @views {arenas = array<i64: 48>} {
// CHECK:       %v = executorch.view %x : tensor<2x2xf32>
// CHECK:       %a = executorch.alloc {memory_id = 1, offset = 16}
// CHECK:       %b = executorch.alloc {memory_id = 1, offset = 32}
// CALLER-LABEL: executorch.plan @views
// CALLER-NEXT:  %x = executorch.input : tensor<4xf32>
// CALLER-NEXT:  %v = executorch.reference : tensor<2x2xf32>
// CALLER-NEXT:  executorch.kernel_call "executorch_prim::et_view.default"(%x, [2, 2]) returns(%v)
executorch.plan @views {
  %x = executorch.input : tensor<4xf32>
  %v = executorch.view %x : tensor<2x2xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<2x2xf32>
  executorch.kernel_call "aten::neg.out"(%v) outs(%b)
  executorch.return %a, %b
}

// -----

// State is kept from one execution to the next; numbers and unbounded tensors have no place.
// CHECK-LABEL: executorch.plan @state {arenas = array<i64: 48>} {
// CHECK:       %s = executorch.state @s {memory_id = 1, offset = 0} : tensor<4xf32>
// CHECK-NEXT:  %n = executorch.input 3 : i64
// CHECK-NEXT:  %u = executorch.alloc unbound : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
// CHECK-NEXT:  %b = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
program.buffer mutable @s : tensor<4xf32>
executorch.plan @state {
  %s = executorch.state @s : tensor<4xf32>
  %n = executorch.input 3 : i64
  %u = executorch.alloc unbound : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%s) outs(%a)
  executorch.kernel_call "aten::relu.out"(%a) outs(%u)
  executorch.kernel_call "aten::relu.out"(%a) outs(%b)
  executorch.return %b, %u
}

// -----

// Several methods: state has an arena of its own, the same place in each.
// CHECK-LABEL: executorch.plan @decode {arenas = array<i64: 16, 32>} {
// CHECK:       executorch.state @b {memory_id = 2, offset = 0}
// CHECK-LABEL: executorch.plan @prefill {arenas = array<i64: 16, 32>} {
// CHECK:       executorch.state @a {memory_id = 2, offset = 16}
// CHECK:       executorch.state @b {memory_id = 2, offset = 0}
// CHECK-LABEL: executorch.plan @stateless {arenas = array<i64: 16>} {
program.buffer mutable @a : tensor<4xf32>
program.buffer mutable @b : tensor<4xf32>
executorch.plan @decode {
  %x = executorch.input : tensor<4xf32>
  %b = executorch.state @b : tensor<4xf32>
  executorch.kernel_call "aten::copy_"(%b, %x, false) returns(%b)
  executorch.return
}
executorch.plan @prefill {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.state @a : tensor<4xf32>
  %b = executorch.state @b : tensor<4xf32>
  executorch.kernel_call "aten::copy_"(%b, %x, false) returns(%b)
  executorch.kernel_call "aten::copy_"(%a, %x, false) returns(%a)
  executorch.return
}
executorch.plan @stateless {
  %x = executorch.input : tensor<4xf32>
  executorch.return %x
}

// -----

// Branches: what one needs the other may use; what is moved to has no storage of its own.
// CHECK-LABEL: executorch.plan @branches {arenas = array<i64: 48>} {
// CHECK:       %result = executorch.reference : tensor<4xf32>
executorch.plan @branches {
  %flag = executorch.input : tensor<i1>
  %x = executorch.input : tensor<4xf32>
  %result = executorch.alloc : tensor<4xf32>
  %then = executorch.alloc : tensor<4xf32>
  %square = executorch.alloc : tensor<4xf32>
  %else = executorch.alloc : tensor<4xf32>
  %out = executorch.alloc : tensor<4xf32>
  executorch.jump_false %flag, ^otherwise, ^holds
^holds:
  executorch.kernel_call "aten::add.out"(%x, %x, 1) outs(%then)
  executorch.move %then to %result
  executorch.jump ^end
^otherwise:
  executorch.kernel_call "aten::mul.out"(%x, %x) outs(%square)
  executorch.kernel_call "aten::mul.out"(%square, %square) outs(%else)
  executorch.move %else to %result
  executorch.jump ^end
^end:
  executorch.kernel_call "aten::relu.out"(%result) outs(%out)
  executorch.return %out
}

// -----

// A loop: what it carries is needed in all of it, what it makes anew is not.
// CHECK-LABEL: executorch.plan @loop
executorch.plan @loop {
  %x = executorch.input : tensor<4xf32>
  %c = executorch.value true : i1
  %carried = executorch.alloc : tensor<4xf32>
  %inner = executorch.alloc : tensor<4xf32>
  %late = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%carried)
  executorch.jump ^body
^body:
  executorch.kernel_call "aten::neg.out"(%carried) outs(%inner)
  executorch.kernel_call "aten::abs.out"(%inner) outs(%late)
  executorch.jump_false %c, ^body, ^end
^end:
  executorch.return %late
}

// -----

// An input that is written to is the caller's own tensor, and has no place.
// CHECK-LABEL: executorch.plan @aliased {arenas = array<i64: 16>} {
// CHECK-NEXT:  %x = executorch.input aliased : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
executorch.plan @aliased {
  %x = executorch.input aliased : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  executorch.kernel_call "aten::copy_"(%x, %a, false) returns(%x)
  executorch.return %a
}
