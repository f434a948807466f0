// RUN: et-opt -p 'plan-memory{caller="one.inputs.0","two.outputs"}' %s | filecheck %s
// RUN: et-opt -p 'plan-memory{caller="one.inputs.0","two.outputs"},verify-executorch' %s | filecheck %s
// RUN: not et-opt -p 'plan-memory{caller="three.inputs"}' %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not et-opt -p 'plan-memory{caller="one.inputs.2"}' %s 2>&1 | filecheck %s --check-prefix=MANY

// NONE: plan-memory: caller: 'three.inputs' is not a selector such as one.inputs.0
// MANY: plan-memory: caller: 'one.inputs.2': one has 2 inputs

// One input, and all that the other method returns, are the caller's memory; the attribute says it of a value.
// CHECK-LABEL: executorch.plan @one
// CHECK-NEXT:  %x = executorch.input : tensor<4xf32>
// CHECK-NEXT:  %y = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
// CHECK-NEXT:  %b = executorch.alloc attributes {executorch.caller} : tensor<4xf32>
executorch.plan @one {
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc attributes {executorch.caller} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %y, 1) outs(%a)
  executorch.kernel_call "aten::relu.out"(%a) outs(%b)
  executorch.return %a, %b
}

// CHECK-LABEL: executorch.plan @two
// CHECK-NEXT:  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc : tensor<4xf32>
executorch.plan @two {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  executorch.return %a
}

// A view of a view of an input in the caller's memory is made at run time as well, of the input.
// CHECK-LABEL: executorch.plan @views
// CHECK:       %flat = executorch.reference : tensor<4xf32>
// CHECK-NEXT:  executorch.kernel_call "executorch_prim::et_view.default"(%x, [4]) returns(%flat)
// CHECK-NEXT:  %square = executorch.reference : tensor<2x2xf32>
// CHECK-NEXT:  executorch.kernel_call "executorch_prim::et_view.default"(%x, [2, 2]) returns(%square)
executorch.plan @views {
  %x = executorch.input aliased : tensor<1x4xf32>
  %flat = executorch.view %x : tensor<4xf32>
  %square = executorch.view %flat : tensor<2x2xf32>
  %a = executorch.alloc : tensor<2x2xf32>
  executorch.kernel_call "aten::relu.out"(%square) outs(%a)
  executorch.kernel_call "aten::neg_"(%flat) returns(%flat)
  executorch.return %a
}
