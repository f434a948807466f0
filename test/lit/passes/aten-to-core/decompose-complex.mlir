// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<3xcomplex<f32>>) -> tensor<3x2xf32> {
  %0 = aten.view_as_real %x : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW_AS_REAL_COPY:.*]] = aten.view_as_real_copy %x
// CHECK-NEXT: func.return %[[VIEW_AS_REAL_COPY]]

// -----

func.func @forward(%x: tensor<3x2xf32>) -> tensor<3xcomplex<f32>> {
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  func.return %0 : tensor<3xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW_AS_COMPLEX_COPY:.*]] = aten.view_as_complex_copy %x
// CHECK-NEXT: func.return %[[VIEW_AS_COMPLEX_COPY]]

// -----

func.func @forward(%r: tensor<3xf32>, %i: tensor<1xf32>) -> tensor<3xcomplex<f32>> {
  %0 = aten.complex %r, %i : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xcomplex<f32>>
  func.return %0 : tensor<3xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %i {size = [3]}
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %r {dim = 1}
// CHECK-NEXT: %[[UNSQUEEZE2:.*]] = aten.unsqueeze %[[EXPAND]] {dim = 1}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[UNSQUEEZE]], %[[UNSQUEEZE2]]] {dim = 1}
// CHECK-NEXT: %[[VIEW_AS_COMPLEX_COPY:.*]] = aten.view_as_complex_copy %[[CAT]]
// CHECK-NEXT: func.return %[[VIEW_AS_COMPLEX_COPY]]

// -----

func.func @forward(%r: tensor<3xf32>, %a: tensor<3xf32>) -> tensor<3xcomplex<f32>> {
  %0 = aten.polar %r, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
  func.return %0 : tensor<3xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[COS:.*]] = aten.cos %a
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %r, %[[COS]]
// CHECK-NEXT: %[[SIN:.*]] = aten.sin %a
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %r, %[[SIN]]
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %[[MUL]] {dim = 1}
// CHECK-NEXT: %[[UNSQUEEZE2:.*]] = aten.unsqueeze %[[MUL2]] {dim = 1}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[UNSQUEEZE]], %[[UNSQUEEZE2]]] {dim = 1}
// CHECK-NEXT: %[[VIEW_AS_COMPLEX_COPY:.*]] = aten.view_as_complex_copy %[[CAT]]
// CHECK-NEXT: func.return %[[VIEW_AS_COMPLEX_COPY]]

// -----

// The angle of real numbers is pi or 0.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.angle %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %x {other = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 3.141592653589793, dtype = f32}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[FULL]], %[[FULL2]]
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %x
// CHECK-NEXT: %[[WHERE2:.*]] = aten.where.self %[[ISNAN]], %x, %[[WHERE]]
// CHECK-NEXT: func.return %[[WHERE2]]

// -----

// Complex numbers of half precision have no copies of their parts.
func.func @forward(%r: tensor<3xf16>, %i: tensor<3xf16>) -> tensor<3xcomplex<f16>> {
  %0 = aten.complex %r, %i : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xcomplex<f16>>
  func.return %0 : tensor<3xcomplex<f16>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[COMPLEX:.*]] = aten.complex %r, %i
// CHECK-NEXT: func.return %[[COMPLEX]]
