// RUN: et-opt -p numbers-to-tensors,dce --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @integer(%x: tensor<4xf32>, %t: tensor<1xi64>)
// CHECK-NEXT:  %[[F:.*]] = edge.dim_order_ops._to_dim_order_copy %t {dtype = f32} : (tensor<1xi64>) -> tensor<1xf32>
// CHECK-NEXT:  %[[V:.*]] = edge.view_copy %[[F]] {size = []} : (tensor<1xf32>) -> tensor<f32>
// CHECK-NEXT:  %[[Y:.*]] = edge.mul.Tensor %x, %[[V]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %[[Y]]
func.func @integer(%x: tensor<4xf32>, %t: tensor<1xi64>) -> tensor<4xf32> {
  %n = edge._local_scalar_dense %t : (tensor<1xi64>) -> i64
  %0 = edge.mul.Scalar %x {other = %n} : (tensor<4xf32>, i64) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @filled
// CHECK-NEXT:  %[[Y:.*]] = edge.expand_copy %t {size = [4]} : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %[[Y]]
func.func @filled(%t: tensor<f32>) -> tensor<4xf32> {
  %n = edge._local_scalar_dense %t : (tensor<f32>) -> f64
  %0 = edge.full {size = [4], fill_value = %n} : (f64) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A size is no tensor yet.
// CHECK-LABEL: func.func @size
// CHECK:       %[[S:.*]] = edge.scalar_tensor {s = %{{.*}}, dtype = f32} : (i64) -> tensor<f32>
// CHECK-NEXT:  edge.add.Tensor %x, %[[S]] {alpha = 2}
func.func @size(%x: tensor<?xf32, #program.sizes<s0>>) -> tensor<?xf32, #program.sizes<s0>> {
  %n = edge.sym_size.int %x {dim = 0} : (tensor<?xf32, #program.sizes<s0>>) -> i64
  %0 = edge.add.Scalar %x {other = %n, alpha = 2} : (tensor<?xf32, #program.sizes<s0>>, i64) -> tensor<?xf32, #program.sizes<s0>>
  func.return %0 : tensor<?xf32, #program.sizes<s0>>
}

// -----

// Known numbers, and floats beside integers, stay.
// CHECK-LABEL: func.func @others
// CHECK:       edge.mul.Scalar %x {other = 2.0}
// CHECK:       edge.gt.Scalar %i {other = %{{.*}}} : (tensor<4xi64>, f64)
func.func @others(%x: tensor<4xf32>, %i: tensor<4xi64>, %t: tensor<f32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %n = edge._local_scalar_dense %t : (tensor<f32>) -> f64
  %0 = edge.mul.Scalar %x {other = 2.0} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.gt.Scalar %i {other = %n} : (tensor<4xi64>, f64) -> tensor<4xi1>
  func.return %0, %1 : tensor<4xf32>, tensor<4xi1>
}
