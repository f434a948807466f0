// RUN: et-opt -p fold-sizes --split-input-file %s | filecheck %s

// Sizes that a constant tells are known, and so is what follows from them.
// CHECK-LABEL: builtin.module
// CHECK: program.constant @repeats_size : tensor<3xi64> = #program.data<i64, [0, 2, 2]>
program.constant @repeats : tensor<3xi64> = #program.data<i64, [1, 0, 2]>
// CHECK: func.func @rows(%x: tensor<3x4xf32>) -> tensor<12xf32>
func.func @rows(%x: tensor<3x4xf32>) -> tensor<?xf32> {
  %r = program.get @repeats : tensor<3xi64>
  // CHECK: %[[I:.*]] = program.get @repeats_size : tensor<3xi64>
  %1 = aten.repeat_interleave.Tensor %r : (tensor<3xi64>) -> tensor<?xi64>
  // CHECK-NEXT: %[[Y:.*]] = aten.index_select %x, %[[I]] {dim = 0} : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %2 = aten.index_select %x, %1 {dim = 0} : (tensor<3x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %3 = aten.sym_size.int %2 {dim = 0} : (tensor<?x4xf32>) -> i64
  %four = program.literal 4 : i64
  %4 = program.compute "mul" %3, %four : (i64, i64) -> i64
  // CHECK: aten.view %[[Y]] {size = [12]} : (tensor<3x4xf32>) -> tensor<12xf32>
  %5 = aten.view %2 {size = [%4]} : (tensor<?x4xf32>, i64) -> tensor<?xf32>
  func.return %5 : tensor<?xf32>
}

// -----

// CHECK: @mask_size : tensor<2x1xi64> = #program.data<i64, [0, 2]>
// CHECK: @mask_size_1 : tensor<4xi64> = #program.data<i64, [1, 2, 0, 0]>
program.constant @mask : tensor<3xi64> = #program.data<i64, [1, 0, 1]>
func.func @others() -> (tensor<?x1xi64>, tensor<?xi64>) {
  %m = program.get @mask : tensor<3xi64>
  %0 = aten.nonzero %m : (tensor<3xi64>) -> tensor<?x1xi64>
  %1 = aten.bincount %m {minlength = 4} : (tensor<3xi64>) -> tensor<?xi64>
  func.return %0, %1 : tensor<?x1xi64>, tensor<?xi64>
}

// -----

// CHECK-LABEL: func.func @data
// CHECK-NEXT: aten.nonzero %x : (tensor<3xi64>) -> tensor<?x1xi64>
func.func @data(%x: tensor<3xi64>) -> tensor<?x1xi64> {
  %0 = aten.nonzero %x : (tensor<3xi64>) -> tensor<?x1xi64>
  func.return %0 : tensor<?x1xi64>
}

// -----

// Negative numbers are the runtime's to refuse.
program.constant @below : tensor<2xi64> = #program.data<i64, [1, -1]>
// CHECK-LABEL: func.func @negative
func.func @negative() -> tensor<?xi64> {
  // CHECK: aten.repeat_interleave.Tensor
  %r = program.get @below : tensor<2xi64>
  %1 = aten.repeat_interleave.Tensor %r : (tensor<2xi64>) -> tensor<?xi64>
  func.return %1 : tensor<?xi64>
}

// -----

// The operator is smaller than what it computes.
program.constant @many : tensor<1xi64> = #program.data<i64, [1000000]>
// CHECK-LABEL: func.func @large() -> tensor<1000000xi64>
func.func @large() -> tensor<?xi64> {
  // CHECK: aten.repeat_interleave.Tensor %r : (tensor<1xi64>) -> tensor<1000000xi64>
  %r = program.get @many : tensor<1xi64>
  %1 = aten.repeat_interleave.Tensor %r : (tensor<1xi64>) -> tensor<?xi64>
  func.return %1 : tensor<?xi64>
}

// -----

// The element of a constant is a number, and so is what is computed from a size that follows from it.
program.constant @padding : tensor<i64> = #program.data<i64, [5]>
// CHECK-LABEL: func.func @elements(%x: tensor<1x3xf32>) -> tensor<1x19xf32>
func.func @elements(%x: tensor<1x3xf32>) -> tensor<1x?xf32> {
  %p = program.get @padding : tensor<i64>
  %n = aten._local_scalar_dense %p : (tensor<i64>) -> i64
  // CHECK: %[[Y:.*]] = aten.constant_pad_nd %x {pad = [0, 5], value = 0.0} : (tensor<1x3xf32>) -> tensor<1x8xf32>
  %1 = aten.constant_pad_nd %x {pad = [0, %n], value = 0.0} : (tensor<1x3xf32>, i64) -> tensor<1x?xf32>
  %2 = aten.sym_size.int %1 {dim = 1} : (tensor<1x?xf32>) -> i64
  %3 = program.literal 3 : i64
  %4 = program.compute "add" %2, %3 : (i64, i64) -> i64
  %5 = aten.full {size = [], fill_value = %4} : (i64) -> tensor<i64>
  %6 = aten._local_scalar_dense %5 : (tensor<i64>) -> i64
  // CHECK: aten.constant_pad_nd %[[Y]] {pad = [0, 11], value = 0.0} : (tensor<1x8xf32>) -> tensor<1x19xf32>
  %7 = aten.constant_pad_nd %1 {pad = [0, %6], value = 0.0} : (tensor<1x?xf32>, i64) -> tensor<1x?xf32>
  func.return %7 : tensor<1x?xf32>
}

// -----

// CHECK-LABEL: func.func @element_of_input
func.func @element_of_input(%x: tensor<i64>) -> i64 {
  // CHECK-NEXT: aten._local_scalar_dense
  %0 = aten._local_scalar_dense %x : (tensor<i64>) -> i64
  func.return %0 : i64
}
