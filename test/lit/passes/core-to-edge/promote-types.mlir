// RUN: et-opt -p promote-types --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @mixed
func.func @mixed(%x: tensor<4xf32>, %n: tensor<4xi64>, %b: tensor<4xi1>, %h: tensor<4xf16>) -> tensor<8xf32> {
  // Each value is converted once for all its uses.
  // CHECK-NEXT: %[[H:.*]] = aten._to_copy %h {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = aten._to_copy %b {dtype = f32} : (tensor<4xi1>) -> tensor<4xf32>
  // CHECK-NEXT: %[[N:.*]] = aten._to_copy %n {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>
  // CHECK-NEXT: aten.mul.Tensor %x, %[[N]] : tensor<4xf32>
  %0 = aten.mul.Tensor %x, %n : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  // CHECK-NEXT: aten.pow.Tensor_Tensor %[[N]], %{{.*}} : tensor<4xf32>
  %1 = aten.pow.Tensor_Tensor %n, %0 : (tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: aten.lt.Tensor %[[B]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = aten.lt.Tensor %b, %1 : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: aten.where.self %{{.*}}, %[[H]], %x
  %3 = aten.where.self %2, %h, %x : (tensor<4xi1>, tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: aten.clamp.Tensor %{{.*}}, %[[N]], %[[H]]
  %4 = aten.clamp.Tensor %3, %n, %h : (tensor<4xf32>, tensor<4xi64>, tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: aten.cat [%{{.*}}, %[[N]]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %5 = aten.cat [%4, %n] : (tensor<4xf32>, tensor<4xi64>) -> tensor<8xf32>
  func.return %5 : tensor<8xf32>
}

// -----

// A tensor without dimensions gives way to one with, unless it is of a higher kind.
// CHECK-LABEL: func.func @zero_dim
func.func @zero_dim(%h: tensor<4xf16>, %n: tensor<4xi32>, %z: tensor<f32>) -> (tensor<4xf16>, tensor<4xf32>) {
  // CHECK-DAG: %[[N:.*]] = aten._to_copy %n {dtype = f32}
  // CHECK-DAG: %[[Z:.*]] = aten._to_copy %z {dtype = f16}
  // CHECK: aten.remainder.Tensor %h, %[[Z]]
  %0 = aten.remainder.Tensor %h, %z : (tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  // CHECK-NEXT: aten.fmod.Tensor %[[N]], %z
  %1 = aten.fmod.Tensor %n, %z : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf16>, tensor<4xf32>
}

// -----

// True division and its like compute in floats: an integer without dimensions that the other type does not hold is
// converted as it is.
// CHECK-LABEL: func.func @float_results
func.func @float_results(%n: tensor<4xi8>, %z: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi8>) {
  // CHECK-DAG: %[[N:.*]] = aten._to_copy %n {dtype = f32}
  // CHECK-DAG: %[[Z:.*]] = aten._to_copy %z {dtype = f32}
  // CHECK-DAG: %[[I:.*]] = aten._to_copy %z {dtype = i8}
  // CHECK: aten.div.Tensor %[[N]], %[[Z]]
  %0 = aten.div.Tensor %n, %z : (tensor<4xi8>, tensor<i64>) -> tensor<4xf32>
  // CHECK-NEXT: aten.atan2 %[[Z]], %[[N]]
  %1 = aten.atan2 %z, %n : (tensor<i64>, tensor<4xi8>) -> tensor<4xf32>
  // CHECK-NEXT: aten.div.Tensor_mode %n, %[[I]]
  %2 = aten.div.Tensor_mode %n, %z {rounding_mode = "floor"} : (tensor<4xi8>, tensor<i64>) -> tensor<4xi8>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi8>
}

// -----

// Products and quotients of 16-bit floats take a second operand without dimensions as it is, sums do not.
// CHECK-LABEL: func.func @wide
func.func @wide(%h: tensor<4xf16>, %z: tensor<f32>, %b: tensor<i8>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) {
  // CHECK-DAG: %[[H:.*]] = aten._to_copy %h {dtype = f32}
  // CHECK-DAG: %[[Z:.*]] = aten._to_copy %z {dtype = f16}
  // CHECK-DAG: %[[B:.*]] = aten._to_copy %b {dtype = f16}
  // CHECK: %[[M:.*]] = aten.mul.Tensor %[[H]], %z : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: aten._to_copy %[[M]] {dtype = f16}
  %0 = aten.mul.Tensor %h, %z : (tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  // CHECK-NEXT: aten.mul.Tensor %[[Z]], %h
  %1 = aten.mul.Tensor %z, %h : (tensor<f32>, tensor<4xf16>) -> tensor<4xf16>
  // CHECK-NEXT: aten.add.Tensor %h, %[[Z]]
  %2 = aten.add.Tensor %h, %z : (tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  // CHECK-NEXT: aten.div.Tensor %h, %[[B]]
  %3 = aten.div.Tensor %h, %b : (tensor<4xf16>, tensor<i8>) -> tensor<4xf16>
  func.return %0, %1, %2, %3 : tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>
}

// -----

// Assignments convert to the type of what they assign to, even to a lower one.
// CHECK-LABEL: func.func @assign
func.func @assign(%n: tensor<4xi32>, %x: tensor<4xf32>) -> tensor<4xi32> {
  // CHECK-NEXT: %[[X:.*]] = aten._to_copy %x {dtype = i32}
  // CHECK-NEXT: aten.slice_scatter %n, %[[X]]
  %0 = aten.slice_scatter %n, %x : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

// At the edge level too, by its own conversion.
// CHECK-LABEL: func.func @edge
func.func @edge(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: edge.mul.Tensor %x, %y
  %0 = edge.mul.Tensor %x, %y : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Nothing to do: one type, operands that are not computed together, division of integers.
// CHECK-LABEL: func.func @uniform
// CHECK-NOT: _to_copy
func.func @uniform(%n: tensor<4xi64>, %w: tensor<8x2xf32>, %c: tensor<4xi1>) -> (tensor<4x2xf32>, tensor<4xf32>, tensor<4xi64>) {
  %0 = aten.embedding %w, %n : (tensor<8x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %1 = aten.div.Tensor %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xf32>
  %2 = aten.where.self %c, %n, %n : (tensor<4xi1>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return %0, %1, %2 : tensor<4x2xf32>, tensor<4xf32>, tensor<4xi64>
}

// -----

// A mean of integers in a type of floats, and a complex sum of real numbers: torch converts first.
// CHECK-LABEL: func.func @accumulate
func.func @accumulate(%n: tensor<4xi64>, %x: tensor<4xf32>) -> (tensor<f32>, tensor<4xcomplex<f32>>) {
  // CHECK-DAG: %[[X:.*]] = aten._to_copy %x {dtype = complex<f32>}
  // CHECK-DAG: %[[N:.*]] = aten._to_copy %n {dtype = f32}
  // CHECK: aten.mean %[[N]] {dtype = f32}
  %0 = aten.mean %n {dtype = f32} : (tensor<4xi64>) -> tensor<f32>
  // CHECK: aten.cumsum %[[X]] {dim = 0, dtype = complex<f32>} :
  %1 = aten.cumsum %x {dim = 0, dtype = complex<f32>} : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  func.return %0, %1 : tensor<f32>, tensor<4xcomplex<f32>>
}

// -----

// Sums of integers and means of floats are accumulated in another type by the kernel itself.
// CHECK-LABEL: func.func @accumulated_by_the_kernel
// CHECK-NOT: _to_copy
func.func @accumulated_by_the_kernel(%n: tensor<4xi64>, %x: tensor<4xf32>) -> (tensor<f32>, tensor<f64>) {
  %0 = aten.sum %n {dtype = f32} : (tensor<4xi64>) -> tensor<f32>
  %1 = aten.mean %x {dtype = f64} : (tensor<4xf32>) -> tensor<f64>
  func.return %0, %1 : tensor<f32>, tensor<f64>
}

// -----

// Numbers are rounded to 16-bit floats, where torch does so, and wrap in integers.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%h: tensor<4xbf16>, %n: tensor<4xi8>) -> (tensor<4xi1>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xi8>, tensor<4xi8>, tensor<4xf32>) {
  // CHECK-NEXT: aten.eq.Scalar %h {other = 0.30078125}
  %0 = aten.eq.Scalar %h {other = 0.3} : (tensor<4xbf16>) -> tensor<4xi1>
  // CHECK-NEXT: aten.add.Scalar %h {other = 256}
  %1 = aten.add.Scalar %h {other = 257} : tensor<4xbf16>
  // CHECK-NEXT: aten.mul.Scalar %h {other = 0.3}
  %2 = aten.mul.Scalar %h {other = 0.3} : tensor<4xbf16>
  // CHECK-NEXT: aten.remainder.Scalar %n {other = 1}
  %3 = aten.remainder.Scalar %n {other = 257} : tensor<4xi8>
  // CHECK-NEXT: aten.mul.Scalar %n {other = 1}
  %4 = aten.mul.Scalar %n {other = 257} : tensor<4xi8>
  // CHECK-NEXT: aten.div.Scalar %n {other = 257}
  %5 = aten.div.Scalar %n {other = 257} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0, %1, %2, %3, %4, %5 : tensor<4xi1>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xi8>, tensor<4xi8>, tensor<4xf32>
}

// -----

// Bounds beyond a type of integers, which torch refuses when it computes, are the nearest ones; others wrap as in torch.
// CHECK-LABEL: func.func @bounds
func.func @bounds(%n: tensor<4xi8>, %u: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xui8>, tensor<4xui8>) {
  // CHECK-NEXT: aten.clamp %n {max = 127}
  %0 = aten.clamp %n {max = 1000} : tensor<4xi8>
  // CHECK-NEXT: aten.clamp %n {min = -128, max = 127}
  %1 = aten.clamp %n {min = -1099511627776, max = 1099511627776} : tensor<4xi8>
  // CHECK-NEXT: aten.clamp %u {min = 0, max = 255}
  %2 = aten.clamp %u {min = -1000, max = 256} : tensor<4xui8>
  // CHECK-NEXT: aten.clamp %u {min = 251}
  %3 = aten.clamp %u {min = -5} : tensor<4xui8>
  func.return %0, %1, %2, %3 : tensor<4xi8>, tensor<4xi8>, tensor<4xui8>, tensor<4xui8>
}
