// RUN: et-opt -p legalize --split-input-file %s | filecheck %s
// RUN: et-opt -p 'legalize{target="et-vm"}' --split-input-file %s | filecheck %s --check-prefix=VM

// Complex tensors on their parts: between two operations that have rules there is no complex tensor.
// CHECK-LABEL: func.func @complex
func.func @complex(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[X:.*]] = edge.view_as_real_copy %x
  // CHECK-NEXT: %[[XR:.*]] = edge.select_copy.int %[[X]] {dim = -1, index = 0}
  // CHECK-NEXT: %[[XI:.*]] = edge.select_copy.int %[[X]] {dim = -1, index = 1}
  // CHECK-NEXT: %[[Y:.*]] = edge.view_as_real_copy %y
  // CHECK-NEXT: %[[YR:.*]] = edge.select_copy.int %[[Y]] {dim = -1, index = 0}
  // CHECK-NEXT: edge.select_copy.int %[[Y]] {dim = -1, index = 1}
  // CHECK-NEXT: %[[R:.*]] = edge.add.Tensor %[[XR]], %[[YR]] : tensor<4xf32>
  // CHECK-NEXT: edge.add.Tensor %[[XI]]
  // VM: edge.add.Tensor %x, %y : tensor<4xcomplex<f32>>
  %0 = edge.add.Tensor %x, %y : tensor<4xcomplex<f32>>
  // CHECK:      %[[A:.*]] = edge.abs %[[R]]
  // CHECK:      edge.logical_or
  // CHECK-NEXT: %[[M:.*]] = edge.where.self
  // CHECK-NEXT: func.return %[[M]]
  %1 = edge.abs %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// A complex tensor is the second place of a transform of its parts; one that the kernel takes stays.
// CHECK-LABEL: func.func @joined
func.func @joined(%z: tensor<4xcomplex<f32>>) -> (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) {
  // CHECK:      %[[N:.*]] = edge.neg %[[I:.*]] : tensor<4xf32>
  // CHECK-NEXT: %[[ZZ:.*]] = edge.full {size = [4, 2], fill_value = 0, dtype = f32}
  // CHECK-NEXT: %[[R:.*]] = edge.view_copy %{{.*}} {size = [4, 1]}
  // CHECK-NEXT: %[[I1:.*]] = edge.view_copy %[[N]] {size = [4, 1]}
  // CHECK-NEXT: %[[L:.*]] = edge.cat [%[[R]], %[[ZZ]], %[[I1]]] {dim = 1}
  // CHECK-NEXT: %[[S:.*]] = edge._fft_r2c %[[L]] {dim = [1], normalization = 0, onesided = true}
  // CHECK-NEXT: %[[C:.*]] = edge.select_copy.int %[[S]] {dim = 1, index = 1}
  %0 = edge.conj_physical %z : tensor<4xcomplex<f32>>
  // CHECK-NEXT: func.return %[[C]], %z
  func.return %0, %z : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @stays
func.func @stays(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // CHECK-NEXT: edge.mul.Tensor %z, %z : tensor<4xcomplex<f32>>
  // CHECK-NEXT: func.return
  %0 = edge.mul.Tensor %z, %z : tensor<4xcomplex<f32>>
  func.return %0 : tensor<4xcomplex<f32>>
}

// -----

// Integers become complex through floats, in any layout and of any size.
// CHECK-LABEL: func.func @converted
func.func @converted(%x: tensor<?xi64>) -> tensor<?xcomplex<f64>> {
  // CHECK-NEXT: %[[F:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = f64} : (tensor<?xi64>) -> tensor<?xf64>
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %[[F]] {dtype = complex<f64>} : (tensor<?xf64>) -> tensor<?xcomplex<f64>>
  // CHECK-NEXT: func.return
  %0 = edge.dim_order_ops._to_dim_order_copy %x {dtype = complex<f64>} : (tensor<?xi64>) -> tensor<?xcomplex<f64>>
  func.return %0 : tensor<?xcomplex<f64>>
}

// -----

// A two-sided transform: the one-sided half, and its mirror image behind it.
// CHECK-LABEL: func.func @transform
func.func @transform(%x: tensor<2x5xf32>) -> tensor<2x5x2xf32> {
  // CHECK-NEXT: %[[H:.*]] = edge._fft_r2c %x {dim = [0, 1], normalization = 0, onesided = true} : (tensor<2x5xf32>) -> tensor<2x3xcomplex<f32>>
  // CHECK:      %[[T:.*]] = edge.slice_copy.Tensor %{{.*}} {dim = 1, start = 1, end = 3}
  // CHECK-NEXT: %[[F:.*]] = edge.flip %[[T]] {dims = [0, 1]}
  // CHECK-NEXT: %[[M:.*]] = edge.roll %[[F]] {shifts = [1], dims = [0]}
  // CHECK-NEXT: edge.cat [%{{.*}}, %[[M]]] {dim = 1}
  // CHECK:      edge.neg
  %0 = edge._fft_r2c %x {dim = [0, 1], normalization = 0, onesided = false} : (tensor<2x5xf32>) -> tensor<2x5xcomplex<f32>>
  %1 = edge.view_as_real_copy %0 : (tensor<2x5xcomplex<f32>>) -> tensor<2x5x2xf32>
  func.return %1 : tensor<2x5x2xf32>
}

// -----

// What may turn out to have one element stands twice in a product.
// CHECK-LABEL: func.func @any_size
func.func @any_size(%x: tensor<?x1xcomplex<f32>>, %y: tensor<?x1xcomplex<f32>>) -> tensor<?x1xcomplex<f32>> {
  // CHECK-NEXT: %[[X:.*]] = edge.unsqueeze_copy %x {dim = 0}
  // CHECK-NEXT: %[[XX:.*]] = edge.expand_copy %[[X]] {size = [2, -1, 1]}
  // CHECK-NEXT: %[[Y:.*]] = edge.unsqueeze_copy %y {dim = 0}
  // CHECK-NEXT: %[[YY:.*]] = edge.expand_copy %[[Y]] {size = [2, -1, 1]}
  // CHECK-NEXT: %[[P:.*]] = edge.mul.Tensor %[[XX]], %[[YY]] : tensor<2x?x1xcomplex<f32>>
  // CHECK-NEXT: edge.select_copy.int %[[P]] {dim = 0, index = 0}
  %0 = edge.mul.Tensor %x, %y : tensor<?x1xcomplex<f32>>
  func.return %0 : tensor<?x1xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @three_at_least
func.func @three_at_least(%x: tensor<?x3xcomplex<f32>>) -> tensor<?x3xcomplex<f32>> {
  // CHECK-NEXT: edge.mul.Tensor %x, %x : tensor<?x3xcomplex<f32>>
  // CHECK-NEXT: func.return
  %0 = edge.mul.Tensor %x, %x : tensor<?x3xcomplex<f32>>
  func.return %0 : tensor<?x3xcomplex<f32>>
}
