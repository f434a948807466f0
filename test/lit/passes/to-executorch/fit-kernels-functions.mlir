// RUN: et-opt -p fit-kernels,cse,dce --split-input-file %s | filecheck %s
// RUN: et-opt -p 'fit-kernels{target="et-vm"}' --split-input-file %s | filecheck %s --check-prefix=VM

// In f64, and back; integers are f32 first, as torch has them.
// CHECK-LABEL: func.func @wave
func.func @wave(%x: tensor<4xi64>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[F:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = f32}
  // CHECK-NEXT: %[[D:.*]] = edge.dim_order_ops._to_dim_order_copy %[[F]] {dtype = f64}
  // CHECK-NEXT: %[[S:.*]] = edge.sin %[[D]]
  // CHECK-NEXT: %[[Q:.*]] = edge.div.Tensor %[[S]], %[[D]]
  // CHECK-NEXT: %[[Z:.*]] = edge.eq.Scalar %[[D]] {other = 0.0}
  // CHECK-NEXT: %[[O:.*]] = edge.masked_fill.Scalar %[[Q]], %[[Z]] {value = 1}
  // CHECK-NEXT: %[[A:.*]] = edge.abs %[[D]]
  // CHECK-NEXT: %[[I:.*]] = edge.eq.Scalar %[[A]] {other = inf}
  // CHECK-NEXT: %[[R:.*]] = edge.masked_fill.Scalar %[[O]], %[[I]] {value = 0}
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %[[R]] {dtype = f32}
  // VM: edge.special_spherical_bessel_j0 %x
  %0 = edge.special_spherical_bessel_j0 %x : (tensor<4xi64>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// f64 needs no conversion, and sizes that are not known are no matter; the exponential is of a square in two parts.
// CHECK-LABEL: func.func @tail
func.func @tail(%x: tensor<?x4xf64>) -> tensor<?x4xf64> {
  // CHECK-NEXT: %[[A:.*]] = edge.abs %x
  // CHECK-NEXT: %[[C:.*]] = edge.clamp %[[A]] {max = 28.0}
  // CHECK-NEXT: %[[M:.*]] = edge.mul.Scalar %[[C]] {other = 16.0}
  // CHECK-NEXT: %[[R:.*]] = edge.round %[[M]]
  // CHECK-NEXT: %[[N:.*]] = edge.div.Scalar %[[R]] {other = 16.0}
  // CHECK-NEXT: edge.mul.Tensor %[[N]], %[[N]]
  // CHECK-COUNT-2: edge.exp
  // CHECK: edge.where.self {{.*}} : {{.*}} -> tensor<?x4xf64>
  // CHECK-NEXT: func.return
  // VM: edge.erfc %x
  %0 = edge.erfc %x : tensor<?x4xf64>
  func.return %0 : tensor<?x4xf64>
}

// -----

// As many steps as the order says: only some.
// CHECK-LABEL: func.func @orders
func.func @orders(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-10: edge.pow.Tensor_Scalar {{.*}} {exponent = -4.0}
  // CHECK-NOT: edge.polygamma {{.*}} {n = 3}
  // CHECK: edge.polygamma %x {n = 13}
  %0 = edge.polygamma %x {n = 3} : tensor<4xf32>
  %1 = edge.polygamma %x {n = 13} : tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
