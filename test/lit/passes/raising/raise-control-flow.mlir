// RUN: et-opt -p raise-plans,dce --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @cond
// CHECK:         %a = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
// CHECK-NEXT:      %a_1 = edge.abs %x : tensor<4xf32>
// CHECK-NEXT:      control.yield %a_1 : tensor<4xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %b = edge.neg %x : tensor<4xf32>
// CHECK-NEXT:      control.yield %b : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %b_1 = edge.add.Tensor %a, %x
executorch.plan @cond {
  %p = executorch.input : tensor<i1>
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.jump_false %p, ^else, ^then
^then:
  executorch.kernel_call "aten::abs.out"(%x) outs(%a)
  executorch.jump ^join
^else:
  executorch.kernel_call "aten::neg.out"(%x) outs(%b)
  executorch.move %b to %a
  executorch.jump ^join
^join:
  executorch.kernel_call "aten::add.out"(%a, %x, 1) outs(%b)
  executorch.return %b
}

// -----

// CHECK-LABEL: func.func @while
// CHECK:         %x_1, %n_1 = control.while(%x, %n) : (tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
// CHECK:           %p = edge.lt.Scalar %n_2 {other = 5}
// CHECK-NEXT:      control.yield %p
// CHECK:         } do {
// CHECK:           %n_4 = edge.add.Scalar %n_3 {other = 1}
// CHECK-NEXT:      %x_4 = edge.abs %x_3
// CHECK-NEXT:      control.yield %x_4, %n_4
executorch.plan @while {
  %n = executorch.input : tensor<i64>
  %x = executorch.input : tensor<4xf32>
  %p = executorch.alloc : tensor<i1>
  executorch.jump ^head
^head:
  executorch.kernel_call "aten::lt.Scalar_out"(%n, 5) outs(%p)
  executorch.jump_false %p, ^done, ^body
^body:
  executorch.kernel_call "aten::add.Scalar_out"(%n, 1, 1) outs(%n)
  executorch.kernel_call "aten::abs.out"(%x) outs(%x)
  executorch.jump ^head
^done:
  executorch.return %x, %n
}

// -----

// A loop that counts goes over slices, and writes its results into a stack.
// CHECK-LABEL: func.func @scan
// CHECK:         %s_1, %r = control.scan(%s) over(%xs) : (tensor<4xf32>) over(tensor<3x4xf32>) -> (tensor<4xf32>) stacked(tensor<3x4xf32>) {
// CHECK:           %s_3 = edge.add.Tensor %s_2, %x
// CHECK-NEXT:      control.yield %s_3, %s_3
executorch.plan @scan {
  %s = executorch.input : tensor<4xf32>
  %xs = executorch.input : tensor<3x4xf32>
  %r = executorch.alloc : tensor<3x4xf32>
  %x = executorch.alloc : tensor<4xf32>
  %i = executorch.value 0 : i64
  %end = executorch.value false : i1
  executorch.jump ^loop
^loop:
  executorch.kernel_call "aten::select_copy.int_out"(%xs, 0, %i) outs(%x)
  executorch.kernel_call "aten::add.out"(%s, %x, 1) outs(%s)
  executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %s, %i)
  executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
  executorch.kernel_call "executorch_prim::eq.Scalar"(%i, 3) returns(%end)
  executorch.jump_false %end, ^loop, ^done
^done:
  executorch.return %s, %r
}

// -----

// A stack of items whose sizes are known at run time only: the first turn gives it these, and a jump goes around the
// loop where there are no slices. A scan does both itself.
// CHECK-LABEL: func.func @sizes_at_run_time
// CHECK-NOT:     control.cond
// CHECK:         %r = control.scan() over(%xs) : () over(tensor<?x?xf32, #program.sizes<s0, s1>>) -> () stacked(tensor<?x?xf32, #program.sizes<s0, s1>>) {
// CHECK-NEXT:    ^bb0(%x: tensor<?xf32, #program.sizes<s1>>):
// CHECK-NEXT:      %y = edge.abs %x : tensor<?xf32, #program.sizes<s1>>
// CHECK-NEXT:      control.yield %y
executorch.plan @sizes_at_run_time {
  %xs = executorch.input bound : tensor<5x4xf32>
  %r = executorch.alloc bound : tensor<5x4xf32>
  %x = executorch.alloc bound : tensor<4xf32>
  %y = executorch.alloc bound : tensor<4xf32>
  %zero = executorch.value 0 : i64
  %i = executorch.value 0 : i64
  %n = executorch.value 0 : i64
  %size = executorch.value 0 : i64
  %none = executorch.value false : i1
  %later = executorch.value false : i1
  %end = executorch.value false : i1
  executorch.kernel_call "aten::sym_size.int"(%xs, 0) returns(%n)
  executorch.kernel_call "aten::empty.out"([0, 4], none) outs(%r)
  executorch.move %zero to %i
  executorch.kernel_call "executorch_prim::eq.Scalar"(%n, 0) returns(%none)
  executorch.jump_false %none, ^loop, ^around
^around:
  executorch.jump ^done
^loop:
  executorch.kernel_call "aten::select_copy.int_out"(%xs, 0, %i) outs(%x)
  executorch.kernel_call "aten::abs.out"(%x) outs(%y)
  executorch.kernel_call "executorch_prim::gt.Scalar"(%i, 0) returns(%later)
  executorch.jump_false %later, ^first, ^rest
^rest:
  executorch.jump ^fill
^first:
  executorch.kernel_call "aten::sym_size.int"(%y, 0) returns(%size)
  executorch.kernel_call "aten::empty.out"([0, %size], none) outs(%r)
  executorch.jump ^fill
^fill:
  executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %y, %i)
  executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
  executorch.kernel_call "executorch_prim::eq.Scalar"(%i, %n) returns(%end)
  executorch.jump_false %end, ^loop, ^done
^done:
  executorch.return %r
}

// -----

// Memory that each turn writes in parts before it reads the whole is not carried.
// CHECK-LABEL: func.func @parts
// CHECK:         %r = control.scan() over(%xs) : () over(tensor<3x4xf32>) -> () stacked(tensor<3x8xf32>) {
// CHECK:           %{{.*}} = edge.cat [%a, %b]
// CHECK-NEXT:      control.yield
executorch.plan @parts {
  %xs = executorch.input : tensor<3x4xf32>
  %r = executorch.alloc : tensor<3x8xf32>
  %x = executorch.alloc : tensor<4xf32>
  %w = executorch.alloc : tensor<8xf32>
  %a = executorch.view %w : tensor<4xf32>
  %b = executorch.view %w from 16 : tensor<4xf32>
  %i = executorch.value 0 : i64
  %end = executorch.value false : i1
  executorch.jump ^loop
^loop:
  executorch.kernel_call "aten::select_copy.int_out"(%xs, 0, %i) outs(%x)
  executorch.kernel_call "aten::abs.out"(%x) outs(%a)
  executorch.kernel_call "aten::neg.out"(%x) outs(%b)
  executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%r, %w, %i)
  executorch.kernel_call "executorch_prim::add.Scalar"(%i, 1) returns(%i)
  executorch.kernel_call "executorch_prim::eq.Scalar"(%i, 3) returns(%end)
  executorch.jump_false %end, ^loop, ^done
^done:
  executorch.return %r
}
