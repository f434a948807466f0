// RUN: et-opt -p to-out-variant --split-input-file %s | filecheck %s

// What a branch computes for a result alone is computed in the result's register; what comes from elsewhere is copied.
func.func @cond(%x: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, i64) {
  %r, %n = control.cond %p : tensor<i1> -> (tensor<4xf32>, i64) {
    %a = edge.relu %x : tensor<4xf32>
    %one = program.literal 1 : i64
    control.yield %a, %one : tensor<4xf32>, i64
  } else {
    %two = program.literal 2 : i64
    control.yield %x, %two : tensor<4xf32>, i64
  }
  func.return %r, %n : tensor<4xf32>, i64
}
// CHECK-LABEL: executorch.plan @cond
// CHECK-NEXT: %x = executorch.input : tensor<4xf32>
// CHECK-NEXT: %p = executorch.input : tensor<i1>
// CHECK-NEXT: %r = executorch.alloc : tensor<4xf32>
// CHECK-NEXT: %n = executorch.value 0 : i64
// CHECK-NEXT: %0 = executorch.value 1 : i64
// CHECK-NEXT: %1 = executorch.value 2 : i64
// CHECK-NEXT: executorch.jump_false %p, ^bb2, ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: executorch.kernel_call "aten::relu.out"(%x) outs(%r)
// CHECK-NEXT: executorch.move %0 to %n
// CHECK-NEXT: executorch.jump ^bb3
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%x, false, [0]) outs(%r)
// CHECK-NEXT: executorch.move %1 to %n
// CHECK-NEXT: executorch.jump ^bb3
// CHECK-NEXT: ^bb3:
// CHECK-NEXT: executorch.return %r, %n

// -----

// Carried values that change places go by way of a third register.
func.func @while(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %a, %b = control.while (%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    control.yield %p : tensor<i1>
  } do {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    control.yield %d, %c : tensor<4xf32>, tensor<4xf32>
  }
  func.return %a : tensor<4xf32>
}
// CHECK-LABEL: executorch.plan @while
// CHECK: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%x, false, [0]) outs(%a)
// CHECK-NEXT: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%y, false, [0]) outs(%b)
// CHECK: executorch.jump ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: executorch.jump_false %p, ^bb3, ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%a, false, [0]) outs([[ASIDE:%[a-z_0-9]+]])
// CHECK-NEXT: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%b, false, [0]) outs(%a)
// CHECK-NEXT: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"([[ASIDE]], false, [0]) outs(%b)
// CHECK-NEXT: executorch.jump ^bb1
// CHECK-NEXT: ^bb3:
// CHECK-NEXT: executorch.return %a

// -----

// A scan counts, selects slices, and lets the stack grow item by item.
func.func @scan(%h: tensor<4xf32>, %xs: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %r, %s = control.scan (%h) over (%xs) : (tensor<4xf32>) over (tensor<3x4xf32>) -> (tensor<4xf32>) stacked (tensor<3x4xf32>) {
  ^bb0(%t: tensor<4xf32>, %x: tensor<4xf32>):
    %y = edge.add.Tensor %t, %x : tensor<4xf32>
    control.yield %y, %t : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r, %s : tensor<4xf32>, tensor<3x4xf32>
}
// CHECK-LABEL: executorch.plan @scan
// CHECK: %s = executorch.alloc bound : tensor<3x4xf32>
// CHECK: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%h, false, [0]) outs(%r)
// CHECK: executorch.kernel_call "aten::empty.out"([0, 4], none) outs(%s)
// CHECK: executorch.move %zero to %count
// CHECK: executorch.jump ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: executorch.kernel_call "aten::select_copy.int_out"(%xs, 0, %count) outs(%x)
// CHECK-NEXT: executorch.kernel_call "aten::add.out"(%r, %x, 1) outs(%y)
// CHECK-NEXT: executorch.kernel_call "executorch_prim::et_copy_index.tensor"(%s, %r, %count)
// CHECK-NEXT: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%y, false, [0]) outs(%r)
// CHECK-NEXT: executorch.kernel_call "executorch_prim::add.Scalar"(%count, 1) returns(%count)
// CHECK-NEXT: executorch.kernel_call "executorch_prim::eq.Scalar"(%count, 3) returns(%finished)
// CHECK-NEXT: executorch.jump_false %finished, ^bb1, ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: executorch.return %r, %s

// -----

// There may be no slices: then there is no turn.
func.func @map(%xs: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %n = edge.sym_size.int %xs {dim = 0} : (tensor<?x4xf32>) -> i64
  program.range %n from 0 to 9
  %s = control.map over (%xs) : (tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%x: tensor<4xf32>):
    %y = edge.relu %x : tensor<4xf32>
    control.yield %y : tensor<4xf32>
  }
  func.return %s : tensor<?x4xf32>
}
// CHECK-LABEL: executorch.plan @map
// CHECK: %s = executorch.alloc bound : tensor<9x4xf32>
// CHECK: executorch.kernel_call "aten::sym_size.int"(%xs, 0) returns(%length)
// CHECK: executorch.kernel_call "executorch_prim::eq.Scalar"(%length, 0) returns(%empty)
// CHECK: executorch.jump_false %empty, ^bb2, ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: executorch.jump ^bb3
// CHECK-NEXT: ^bb2:
// CHECK: executorch.jump_false %finished, ^bb2, ^bb3

// -----

// The next value is computed in the place of the current one where that is needed no more; a counter counts in place.
func.func @in_place(%x: tensor<4xf32>, %w: tensor<4xf32>, %z: tensor<i64>, %one: tensor<i64>, %n: tensor<i64>) -> tensor<4xf32> {
  %i, %y, %s = control.while (%z, %x, %x) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<i64>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %p = edge.lt.Tensor %a, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    control.yield %p : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %j = edge.add.Tensor %a, %one : tensor<i64>
    %d = edge.mul.Tensor %b, %w : tensor<4xf32>
    %e = edge.flip %d {dims = [0]} : tensor<4xf32>
    %f = edge.flip %c {dims = [0]} : tensor<4xf32>
    control.yield %j, %e, %f : tensor<i64>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: executorch.plan @in_place
// CHECK: executorch.jump_false
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: executorch.kernel_call "aten::add.out"(%i, %one, 1) outs(%i)
// CHECK-NEXT: executorch.kernel_call "aten::mul.out"(%y, %w) outs(%d)
// CHECK-NEXT: executorch.kernel_call "aten::flip.out"(%d, [0]) outs(%y)
// CHECK-NEXT: executorch.kernel_call "aten::flip.out"(%s, [0]) outs(%f)
// CHECK-NEXT: executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%f, false, [0]) outs(%s)
// CHECK-NEXT: executorch.jump ^bb1
