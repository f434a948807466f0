// RUN: et-opt -p to-out-variant --split-input-file %s | filecheck %s

// Each result that depends on data is as large as the operator can make it.
func.func @forward(%x: tensor<2x3xf32>, %m: tensor<3xi1>, %b: tensor<5xui8>) -> (tensor<?x2xi64>, tensor<?xf32>, tensor<?xf32>, tensor<2x3xi64>, tensor<?xi64>, tensor<2x?xf32>, tensor<?xi64>) {
  %0 = edge.nonzero %x : (tensor<2x3xf32>) -> tensor<?x2xi64>
  %1 = edge.masked_select %x, %m : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<?xf32>
  %2, %3, %4 = edge._unique2 %x {return_inverse = true, return_counts = true} : (tensor<2x3xf32>) -> (tensor<?xf32>, tensor<2x3xi64>, tensor<?xi64>)
  %5, %6, %7 = edge.unique_consecutive %x {dim = -1} : (tensor<2x3xf32>) -> (tensor<2x?xf32>, tensor<3xi64>, tensor<?xi64>)
  %8 = edge.bincount %b : (tensor<5xui8>) -> tensor<?xi64>
  func.return %0, %1, %2, %3, %4, %5, %8 : tensor<?x2xi64>, tensor<?xf32>, tensor<?xf32>, tensor<2x3xi64>, tensor<?xi64>, tensor<2x?xf32>, tensor<?xi64>
}
// CHECK-LABEL: executorch.plan @forward
// CHECK:       executorch.alloc bound : tensor<6x2xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::nonzero.out"
// CHECK-NEXT:  executorch.alloc bound : tensor<6xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::masked_select.out"
// CHECK-NEXT:  executorch.alloc bound : tensor<6xf32>
// CHECK-NEXT:  executorch.alloc : tensor<2x3xi64>
// CHECK-NEXT:  executorch.alloc bound : tensor<6xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::_unique2.out"
// CHECK-NEXT:  executorch.alloc bound : tensor<2x3xf32>
// CHECK-NEXT:  executorch.alloc : tensor<3xi64>
// CHECK-NEXT:  executorch.alloc bound : tensor<3xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::unique_consecutive.out"
// CHECK-NEXT:  executorch.alloc bound : tensor<256xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::bincount.out"

// -----

// What is stated of a size holds for the tensor that has it, and for what it is made from; then it goes.
func.func @stated(%x: tensor<2x3xf32>, %n: tensor<2xi64>) -> tensor<?x3xf32> {
  %0 = edge.repeat_interleave.Tensor %n : (tensor<2xi64>) -> tensor<?xi64>
  %1 = edge.index_select %x, %0 {dim = 0} : (tensor<2x3xf32>, tensor<?xi64>) -> tensor<?x3xf32>
  %2 = edge.add.Tensor %1, %1 : tensor<?x3xf32>
  %3 = edge.sym_size.int %2 {dim = 0} : (tensor<?x3xf32>) -> i64
  program.range %3 from 0 to 10
  func.return %2 : tensor<?x3xf32>
}
// CHECK-LABEL: executorch.plan @stated
// CHECK:       %0 = executorch.alloc bound : tensor<10xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::repeat_interleave.Tensor_out"(%n, none) outs(%0)
// CHECK-NEXT:  %1 = executorch.alloc bound : tensor<10x3xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::index_select.out"(%x, 0, %0) outs(%1)
// CHECK-NEXT:  %2 = executorch.alloc bound : tensor<10x3xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::add.out"(%1, %1, 1) outs(%2)
// CHECK-NEXT:  executorch.return %2

// -----

// Numbers that are read from tensors; sizes that are read at run time.
func.func @numbers(%x: tensor<3x8xf32>, %n: tensor<i64>) -> (tensor<?x3xf32>, tensor<3x?xf32>, tensor<3x?xf32>, tensor<?xi64>) {
  %0 = edge._local_scalar_dense %n : (tensor<i64>) -> i64
  program.range %0 from 2 to 6
  %1 = edge.full {size = [%0, 3], fill_value = 1, dtype = f32} : (i64) -> tensor<?x3xf32>
  %2 = edge.slice_copy.Tensor %x {dim = 1, end = %0} : (tensor<3x8xf32>, i64) -> tensor<3x?xf32>
  %3 = edge.slice_copy.Tensor %x {dim = 1, start = %0, step = 2} : (tensor<3x8xf32>, i64) -> tensor<3x?xf32>
  %4 = edge.sym_size.int %3 {dim = 1} : (tensor<3x?xf32>) -> i64
  %5 = edge.arange.start_step {start = 1, end = %4} : (i64) -> tensor<?xi64>
  func.return %1, %2, %3, %5 : tensor<?x3xf32>, tensor<3x?xf32>, tensor<3x?xf32>, tensor<?xi64>
}
// CHECK-LABEL: executorch.plan @numbers
// CHECK:       %0 = executorch.value 0 : i64
// CHECK-NEXT:  executorch.kernel_call "aten::_local_scalar_dense"(%n) returns(%0)
// CHECK-NEXT:  %1 = executorch.alloc bound : tensor<6x3xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::full.out"([%0, 3], 1) outs(%1)
// CHECK-NEXT:  %2 = executorch.alloc bound : tensor<3x6xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::slice_copy.Tensor_out"(%x, 1, none, %0, 1) outs(%2)
// CHECK-NEXT:  %3 = executorch.alloc bound : tensor<3x3xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::slice_copy.Tensor_out"(%x, 1, %0, none, 2) outs(%3)
// CHECK-NEXT:  %4 = executorch.value 0 : i64
// CHECK-NEXT:  executorch.kernel_call "aten::sym_size.int"(%3, 1) returns(%4)
// CHECK-NEXT:  %5 = executorch.alloc bound : tensor<2xi64>

// -----

// Bounds go through other operators: joins add up, pointwise operands are of one size, a view has all elements.
func.func @through(%x: tensor<4xf32>, %y: tensor<6xf32>, %m: tensor<4xi1>, %n: tensor<6xi1>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?x1xf32>, tensor<?x2xf32>) {
  %0 = edge.masked_select %x, %m : (tensor<4xf32>, tensor<4xi1>) -> tensor<?xf32>
  %1 = edge.masked_select %y, %n : (tensor<6xf32>, tensor<6xi1>) -> tensor<?xf32>
  %2 = edge.cat [%0, %1, %x] : (tensor<?xf32>, tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>
  %3 = edge.add.Tensor %0, %1 : tensor<?xf32>
  %4 = edge.unsqueeze_copy %3 {dim = 1} : (tensor<?xf32>) -> tensor<?x1xf32>
  %5 = edge.view_copy %2 {size = [-1, 2]} : (tensor<?xf32>) -> tensor<?x2xf32>
  func.return %2, %3, %4, %5 : tensor<?xf32>, tensor<?xf32>, tensor<?x1xf32>, tensor<?x2xf32>
}
// CHECK-LABEL: executorch.plan @through
// CHECK:       %2 = executorch.alloc bound : tensor<14xf32>
// CHECK:       %3 = executorch.alloc bound : tensor<6xf32>
// CHECK:       %4 = executorch.alloc bound : tensor<6x1xf32>
// CHECK:       %5 = executorch.alloc bound : tensor<7x2xf32>

// -----

// An input whose largest sizes the caller has stated.
func.func @inputs(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = edge.sym_size.int %x {dim = 0} : (tensor<?x4xf32>) -> i64
  program.range %0 from 2 to 8
  %1 = edge.relu %x : tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}
// CHECK-LABEL: executorch.plan @inputs
// CHECK-NEXT:  %x = executorch.input bound : tensor<8x4xf32>
// CHECK-NEXT:  executorch.alloc bound : tensor<8x4xf32>

// -----

// Numbers are computed by primitive operators, and bounds with them.
func.func @computed(%x: tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = edge.sym_size.int %x {dim = 0} : (tensor<?x3xf32>) -> i64
  program.range %0 from 2 to 8
  %1 = program.literal 2 : i64
  %2 = program.compute "mul" %0, %1 : (i64, i64) -> i64
  %3 = program.compute "max" %2, %0 : (i64, i64) -> i64
  %4 = edge.full {size = [%3], fill_value = 1, dtype = f32} : (i64) -> tensor<?xf32>
  %5 = program.literal 20 : i64
  %6 = program.compute "sub" %5, %0 : (i64, i64) -> i64
  %7 = edge.full {size = [%6], fill_value = 1, dtype = f32} : (i64) -> tensor<?xf32>
  func.return %4, %7 : tensor<?xf32>, tensor<?xf32>
}
// CHECK-LABEL: executorch.plan @computed
// CHECK:       executorch.kernel_call "executorch_prim::mul.Scalar"(%0, 2) returns(%1)
// CHECK:       executorch.kernel_call "executorch_prim::sym_max.Scalar"(%1, %0) returns(%2)
// CHECK:       executorch.alloc bound : tensor<16xf32>
// CHECK:       executorch.kernel_call "executorch_prim::sub.Scalar"(20, %0) returns(%4)
// CHECK:       executorch.alloc bound : tensor<18xf32>

// -----

// What is demanded of the sizes of inputs stays with the method.
// CHECK:       executorch.plan @guarded {guards = #program.guards<(x), "2 <= x.shape[0] <= 8">} {
// CHECK-NEXT:    executorch.input bound : tensor<8xf32>
func.func @guarded(%x: tensor<?xf32>) -> tensor<?xf32> attributes {program.guards = #program.guards<(x), "2 <= x.shape[0] <= 8">} {
  %n = edge.sym_size.int %x {dim = 0} : (tensor<?xf32>) -> i64
  program.range %n from 2 to 8
  %0 = edge.relu %x : tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

// A size that is left to a view has no part of those that are given, whose symbols the types have.
// CHECK-LABEL: executorch.plan @counted
// CHECK:       executorch.alloc bound : tensor<2x2x8xi64>
// CHECK-NEXT:  executorch.kernel_call "aten::view_copy.out"
func.func @counted(%x: tensor<4x?xi64, #program.sizes<s0>>) -> tensor<2x?x?xi64> attributes {program.ranges = #program.ranges<s0 from 0 to 8>} {
  %n = edge.sym_size.int %x {dim = 1} : (tensor<4x?xi64, #program.sizes<s0>>) -> i64
  %0 = edge.arange.start_step {start = 0, end = %n} : (i64) -> tensor<?xi64, #program.sizes<s0>>
  %1 = edge.add.Tensor %x, %0 : (tensor<4x?xi64, #program.sizes<s0>>, tensor<?xi64, #program.sizes<s0>>) -> tensor<4x?xi64, #program.sizes<s0>>
  %2 = edge.view_copy %1 {size = [2, -1, %n]} : (tensor<4x?xi64, #program.sizes<s0>>, i64) -> tensor<2x?x?xi64>
  func.return %2 : tensor<2x?x?xi64>
}
