// RUN: et-opt -p free-unbounded --split-input-file %s | filecheck %s

// Given back behind the last use; outputs and inputs are the caller's, planned registers have their place.
// CHECK-LABEL: executorch.plan @forward
executorch.plan @forward {arenas = array<i64: 16>} {
  // CHECK-NEXT: executorch.input unbound
  %x = executorch.input unbound : tensor<0x4xf32>
  %0 = executorch.alloc unbound : tensor<0x4xf32>
  %1 = executorch.alloc unbound : tensor<0x4xf32>
  %2 = executorch.alloc {memory_id = 1, offset = 0} : tensor<f32>
  // CHECK:      executorch.kernel_call "aten::relu.out"(%x) outs(%[[A:.*]])
  // CHECK-NEXT: executorch.kernel_call "aten::neg.out"(%[[A]]) outs(%[[B:.*]])
  // CHECK-NEXT: executorch.kernel_call "aten::sum.IntList_out"(%[[A]]
  // CHECK-NEXT: executorch.free %[[A]]
  // CHECK-NEXT: executorch.return %[[B]],
  executorch.kernel_call "aten::relu.out"(%x) outs(%0)
  executorch.kernel_call "aten::neg.out"(%0) outs(%1)
  executorch.kernel_call "aten::sum.IntList_out"(%0, ints [], false, none) outs(%2)
  executorch.return %1, %2
}

// -----

// A tensor that only a loop needs is given back in each turn; one that the loop carries is not.
// CHECK-LABEL: executorch.plan @loop
executorch.plan @loop {arenas = array<i64>} {
  %x = executorch.input unbound : tensor<0xf32>
  %carried = executorch.alloc unbound : tensor<0xf32>
  %turn = executorch.alloc unbound : tensor<0xf32>
  %again = executorch.value false : i1
  // CHECK: "aten::relu.out"(%x) outs(%[[CARRIED:.*]])
  executorch.kernel_call "aten::relu.out"(%x) outs(%carried)
  executorch.jump ^loop
^loop:
  // CHECK:      executorch.kernel_call "aten::neg.out"(%[[CARRIED]]) outs(%[[TURN:.*]])
  // CHECK-NEXT: executorch.kernel_call "aten::relu.out"(%[[TURN]]) outs(%[[CARRIED]])
  // CHECK-NEXT: executorch.free %[[TURN]]
  // CHECK-NEXT: executorch.jump_false
  executorch.kernel_call "aten::neg.out"(%carried) outs(%turn)
  executorch.kernel_call "aten::relu.out"(%turn) outs(%carried)
  executorch.jump_false %again, ^loop, ^done
^done:
  executorch.return
}
