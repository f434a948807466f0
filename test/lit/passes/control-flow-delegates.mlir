// What a backend has compiled may stand in a branch.
// RUN: et-opt -p verify-backend,to-out-variant,plan-memory,verify-executorch %s | filecheck %s

backend.lowered @lowered_0 "demo" = #program.data<ui8, [1, 2]>
func.func @forward(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
    %a = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %a : tensor<4xf32>
  } else {
    %a = edge.relu %x : tensor<4xf32>
    %b = backend.call @lowered_0(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %c = edge.neg %b : tensor<4xf32>
    control.yield %c : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// CHECK: executorch.plan @forward
// CHECK: ^bb1:
// CHECK-NEXT: executorch.delegate_call @lowered_0(%x) outs(%r)
// CHECK-NEXT: executorch.jump ^bb3
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: executorch.kernel_call "aten::relu.out"(%x) outs(%a)
// CHECK-NEXT: executorch.delegate_call @lowered_0(%a) outs(%b)
// CHECK-NEXT: executorch.kernel_call "aten::neg.out"(%b) outs(%r)
