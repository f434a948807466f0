// RUN: et-opt -p to-out-variant --split-input-file %s | filecheck %s

// CHECK-LABEL: executorch.plan @forward {in_spec = "in", out_spec = "out"} {
// CHECK-NEXT:  %x = executorch.input as "x" : tensor<2x4xf32>
// CHECK-NEXT:  %n = executorch.input 3 : i64
// CHECK-NEXT:  %unused = executorch.input "text" : !program.string
// CHECK-NEXT:  %b = executorch.constant @b : tensor<4xf32>
// CHECK-NEXT:  %0 = executorch.alloc : tensor<2x4xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::add.out"(%x, %b, 2) outs(%0)
// CHECK-NEXT:  %v = executorch.alloc : tensor<2x2xf32>
// CHECK-NEXT:  %i = executorch.alloc : tensor<2x2xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::topk.values"(%0, 2, -1, true, true) outs(%v, %i)
// CHECK-NEXT:  executorch.return %v, %b, %n, 5, none
program.parameter @b : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
func.func @forward(%x: tensor<2x4xf32> {program.name = "x"}, %n: i64 {program.value = 3 : i64}, %unused: !program.string {program.value = "text"}) -> (tensor<2x2xf32>, tensor<4xf32>, i64, i64, none) attributes {program.in_spec = "in", program.out_spec = "out"} {
  %b = program.get @b : tensor<4xf32>
  %0 = edge.add.Tensor %x, %b {alpha = 2} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %v, %i = edge.topk %0 {k = 2} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  // The same constant is one register.
  %again = program.get @b : tensor<4xf32>
  %five = program.literal 5 : i64
  %nothing = program.literal none
  func.return %v, %again, %n, %five, %nothing : tensor<2x2xf32>, tensor<4xf32>, i64, i64, none
}

// -----

// Arguments by type: lists, optional tensors, dtypes as their numbers, absent ones. Dimensions of which a size is read
// count from the front.
// CHECK-LABEL: executorch.plan @arguments
// CHECK:       executorch.kernel_call "aten::index.Tensor_out"(%x, [none, %at]) outs
// CHECK:       executorch.kernel_call "aten::mean.out"(%x, [0], true, none) outs
// CHECK:       executorch.kernel_call "aten::sum.IntList_out"(%x, ints [], false, 7) outs
// CHECK:       executorch.kernel_call "dim_order_ops::_to_dim_order_copy.out"(%x, false, [0, 1]) outs
// CHECK:       executorch.kernel_call "aten::cat.out"([%x, %x], 1) outs
// CHECK:       executorch.kernel_call "aten::split_copy.Tensor_out"(%x, 2, 1) outs([%p, %q])
// CHECK:       executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%size)
// CHECK:       executorch.kernel_call "aten::view_copy.out"(%x, [%size, 4]) outs
func.func @arguments(%x: tensor<2x4xf32>, %at: tensor<3xi64>) -> (tensor<2x3xf32>, tensor<1x4xf32>, tensor<f64>, tensor<2x4xf64>, tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x4xf32>) {
  %0 = edge.index.Tensor %x, [none, %at] : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %1 = edge.mean.dim %x {dim = [0], keepdim = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %2 = edge.sum.dim_IntList %x {dim = [], dtype = f64} : (tensor<2x4xf32>) -> tensor<f64>
  %3 = edge.dim_order_ops._to_dim_order_copy %x {dtype = f64, dim_order = [0, 1]} : (tensor<2x4xf32>) -> tensor<2x4xf64>
  %4 = edge.cat [%x, %x] {dim = 1} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %p, %q = edge.split_copy.Tensor %x {split_size = 2, dim = 1} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %size = edge.sym_size.int %x {dim = -2} : (tensor<2x4xf32>) -> i64
  %5 = edge.view_copy %x {size = [%size, 4]} : (tensor<2x4xf32>, i64) -> tensor<2x4xf32>
  func.return %0, %1, %2, %3, %4, %p, %5 : tensor<2x3xf32>, tensor<1x4xf32>, tensor<f64>, tensor<2x4xf64>, tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x4xf32>
}

// -----

// State: a load behind a store is what was stored.
// CHECK-LABEL: executorch.plan @state
// CHECK-NEXT:  %x = executorch.input : tensor<4xf32>
// CHECK-NEXT:  %old = executorch.state @s : tensor<4xf32>
// CHECK-NEXT:  %new = executorch.alloc : tensor<4xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::add.out"(%old, %x, 1) outs(%new)
// CHECK-NEXT:  program.store @s, %new : tensor<4xf32>
// CHECK-NEXT:  executorch.return %old, %new
program.buffer mutable @s : tensor<4xf32>
func.func @state(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %old = program.load @s : tensor<4xf32>
  %new = edge.add.Tensor %old, %x : tensor<4xf32>
  program.store @s, %new : tensor<4xf32>
  %now = program.load @s : tensor<4xf32>
  func.return %old, %now : tensor<4xf32>, tensor<4xf32>
}

// -----

// What a backend has compiled.
// CHECK-LABEL: executorch.plan @delegate
// CHECK-NEXT:  %x = executorch.input : tensor<4xf32>
// CHECK-NEXT:  %[[K:[a-z0-9]+]] = executorch.value 2 : i64
// CHECK-NEXT:  %[[A:[a-z0-9]+]] = executorch.alloc : tensor<4xf32>
// CHECK-NEXT:  %[[B:[a-z0-9]+]] = executorch.value 0 : i64
// CHECK-NEXT:  executorch.delegate_call @lowered_0(%x, %[[K]]) outs(%[[A]], %[[B]])
// CHECK-NEXT:  executorch.return %[[A]], %[[B]]
backend.lowered @lowered_0 "demo" = #program.data<ui8, [1]>
func.func @delegate(%x: tensor<4xf32>) -> (tensor<4xf32>, i64) {
  %k = program.literal 2 : i64
  %0, %1 = backend.call @lowered_0(%x, %k) : (tensor<4xf32>, i64) -> (tensor<4xf32>, i64)
  func.return %0, %1 : tensor<4xf32>, i64
}

// -----

// Does not fire: a plan is one already.
// CHECK-LABEL: executorch.plan @done
// CHECK-NEXT:  executorch.return
executorch.plan @done {
  executorch.return
}
