// RUN: et-opt -p constant-fold,dce --split-input-file %s | filecheck %s

// A weight is transposed at compile time, once for all uses in all methods.
// CHECK: program.constant @w_permute : tensor<3x2xf32> = #program.data<f32, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]>
// CHECK-NOT: program.{{parameter|constant}}
program.parameter @w : tensor<2x3xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %w = program.get @w : tensor<2x3xf32>
  // CHECK-NEXT: %[[W:.*]] = program.get @w_permute
  %0 = aten.permute %w {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: aten.mm %x, %[[W]]
  %1 = aten.mm %x, %0 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  func.return %1 : tensor<4x2xf32>
}
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<1x3xf32>) -> tensor<1x2xf32> {
  %w = program.get @w : tensor<2x3xf32>
  // CHECK-NEXT: program.get @w_permute
  %0 = aten.permute %w {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = aten.mm %x, %0 : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
  func.return %1 : tensor<1x2xf32>
}

// -----

// A chain is folded as one: a causal mask from sequences, with numbers in tensor slots.
// CHECK: program.constant @where : tensor<3x3xf32> = #program.data<f32, [0.0, -1.0e+09, -1.0e+09, 0.0, 0.0, -1.0e+09, 0.0, 0.0, 0.0]>
// CHECK-NOT: program.constant
// CHECK-LABEL: func.func @mask
func.func @mask(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %zero = program.literal 0.0 : f64
  %minus = program.literal -1.0e+09 : f64
  %0 = aten.arange {end = 3} : () -> tensor<3xi64>
  %1 = aten.unsqueeze %0 {dim = 1} : (tensor<3xi64>) -> tensor<3x1xi64>
  %2 = aten.le.Tensor %0, %1 : (tensor<3xi64>, tensor<3x1xi64>) -> tensor<3x3xi1>
  %3 = aten.where.self %2, %zero, %minus : (tensor<3x3xi1>, f64, f64) -> tensor<3x3xf32>
  // CHECK-NEXT: %[[M:.*]] = program.get @where
  // CHECK-NEXT: aten.add.Tensor %x, %[[M]]
  %4 = aten.add.Tensor %x, %3 : tensor<3x3xf32>
  func.return %4 : tensor<3x3xf32>
}

// -----

// All results of an op that has several, and conversions, at the edge level too.
// CHECK: program.constant @n_split_with_sizes : tensor<1xf32> = #program.data<f32, [1.0]>
// CHECK: program.constant @n_split_with_sizes_1 : tensor<2xf32> = #program.data<f32, [2.0, 3.0]>
program.constant @n : tensor<3xi64> = #program.data<i64, [1, 2, 3]>
// CHECK-LABEL: func.func @several
func.func @several() -> (tensor<1xf32>, tensor<2xf32>) {
  %n = program.get @n : tensor<3xi64>
  %0 = edge.dim_order_ops._to_dim_order_copy %n {dtype = f32} : (tensor<3xi64>) -> tensor<3xf32>
  %1, %2 = edge.split_with_sizes_copy %0 {split_sizes = [1, 2]} : (tensor<3xf32>) -> (tensor<1xf32>, tensor<2xf32>)
  // CHECK: func.return
  func.return %1, %2 : tensor<1xf32>, tensor<2xf32>
}

// -----

// What numpy does not evaluate to the bit, torch does.
// CHECK: program.constant @w_exp : tensor<2xf32> = #program.data<f32, [1.0, 2.7182817]>
program.parameter @w : tensor<2xf32> = #program.data<f32, [0.0, 1.0]>
// CHECK-LABEL: func.func @torch
func.func @torch() -> tensor<2xf32> {
  %w = program.get @w : tensor<2xf32>
  %0 = aten.exp %w : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// Elements, which numpy gives as scalars.
// CHECK: @sizes_select : tensor<i64> = #program.data<i64, [3]>
// CHECK: @sizes_select_1 : tensor<i64> = #program.data<i64, [2]>
program.constant @sizes : tensor<2xi64> = #program.data<i64, [2, 3]>
// CHECK: func.func @elements
func.func @elements() -> (i64, i64) {
  %g = program.get @sizes : tensor<2xi64>
  // CHECK-NOT: aten.select.int
  %0 = aten.select.int %g {dim = 0, index = 0} : (tensor<2xi64>) -> tensor<i64>
  %1 = aten.select.int %g {dim = 0, index = 1} : (tensor<2xi64>) -> tensor<i64>
  %2 = aten._local_scalar_dense %0 : (tensor<i64>) -> i64
  %3 = aten._local_scalar_dense %1 : (tensor<i64>) -> i64
  func.return %2, %3 : i64, i64
}
