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

// -----

// A rotary embedding: products of which only the parts are read.
func.func @rotary(%x: tensor<?x4x3x2xf32>, %f: tensor<?x3x2xf32>) -> tensor<?x4x3x2xf32> {
  %one = program.literal 1.250000e+00 : f64
  %0 = aten.view_as_complex %x : (tensor<?x4x3x2xf32>) -> tensor<?x4x3xcomplex<f32>>
  %1 = aten.view_as_complex %f : (tensor<?x3x2xf32>) -> tensor<?x3xcomplex<f32>>
  %2 = aten.mul.Tensor %1, %one : (tensor<?x3xcomplex<f32>>, f64) -> tensor<?x3xcomplex<f32>>
  %3 = aten.unsqueeze %2 {dim = -2} : (tensor<?x3xcomplex<f32>>) -> tensor<?x1x3xcomplex<f32>>
  %4 = aten.mul.Tensor %0, %3 : (tensor<?x4x3xcomplex<f32>>, tensor<?x1x3xcomplex<f32>>) -> tensor<?x4x3xcomplex<f32>>
  %5 = aten.view_as_real %4 : (tensor<?x4x3xcomplex<f32>>) -> tensor<?x4x3x2xf32>
  func.return %5 : tensor<?x4x3x2xf32>
}
// CHECK:      func.func @rotary
// CHECK-NEXT: %[[ONE:.*]] = program.literal 1.250000e+00
// CHECK-NEXT: %[[F:.*]] = aten.mul.Tensor %f, %[[ONE]]
// CHECK-NEXT: %[[U:.*]] = aten.unsqueeze %[[F]] {dim = 1}
// CHECK-NEXT: %[[A:.*]] = aten.select.int %x {dim = -1, index = 0}
// CHECK-NEXT: %[[B:.*]] = aten.select.int %x {dim = -1, index = 1}
// CHECK-NEXT: %[[C:.*]] = aten.select.int %[[U]] {dim = -1, index = 0}
// CHECK-NEXT: %[[D:.*]] = aten.select.int %[[U]] {dim = -1, index = 1}
// CHECK-NEXT: %[[AC:.*]] = aten.mul.Tensor %[[A]], %[[C]]
// CHECK-NEXT: %[[BD:.*]] = aten.mul.Tensor %[[B]], %[[D]]
// CHECK-NEXT: %[[REAL:.*]] = aten.sub.Tensor %[[AC]], %[[BD]]
// CHECK-NEXT: %[[AD:.*]] = aten.mul.Tensor %[[A]], %[[D]]
// CHECK-NEXT: %[[BC:.*]] = aten.mul.Tensor %[[B]], %[[C]]
// CHECK-NEXT: %[[IMAG:.*]] = aten.add.Tensor %[[AD]], %[[BC]]
// CHECK-NEXT: %[[R:.*]] = aten.unsqueeze %[[REAL]] {dim = 3}
// CHECK-NEXT: %[[I:.*]] = aten.unsqueeze %[[IMAG]] {dim = 3}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[R]], %[[I]]] {dim = 3}
// CHECK-NEXT: func.return %[[CAT]]

// -----

// Numbers that are not made of parts, and a product that is read as such: complex numbers stay.
func.func @kept(%x: tensor<3x2xf32>, %y: tensor<3xcomplex<f32>>, %z: tensor<3xcomplex<f64>>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3xcomplex<f32>>, tensor<3x2xf64>) {
  %0 = aten.mul.Tensor %y, %y : tensor<3xcomplex<f32>>
  %1 = aten.view_as_real %0 : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  %2 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %3 = aten.mul.Tensor %2, %y : tensor<3xcomplex<f32>>
  %4 = aten.view_as_real %3 : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  %5 = aten.mul.Tensor %2, %z : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
  %6 = aten.view_as_real %5 : (tensor<3xcomplex<f64>>) -> tensor<3x2xf64>
  func.return %1, %4, %3, %6 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3xcomplex<f32>>, tensor<3x2xf64>
}
// CHECK:      func.func @kept
// CHECK-NEXT: %[[SQUARE:.*]] = aten.mul.Tensor %y, %y
// CHECK-NEXT: aten.view_as_real_copy %[[SQUARE]]
// CHECK-NEXT: %[[X:.*]] = aten.view_as_complex_copy %x
// CHECK-NEXT: %[[XY:.*]] = aten.mul.Tensor %[[X]], %y
// CHECK-NEXT: aten.view_as_real_copy %[[XY]]
// CHECK-NEXT: %[[XZ:.*]] = aten.mul.Tensor %[[X]], %z
// CHECK-NEXT: aten.view_as_real_copy %[[XZ]]

// -----

// One factor that is not made of parts: its parts are read.
func.func @mixed(%x: tensor<3x2xf32>, %y: tensor<3xcomplex<f32>>) -> tensor<3x2xf32> {
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.mul.Tensor %y, %0 : tensor<3xcomplex<f32>>
  %2 = aten.view_as_real %1 : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}
// CHECK:      func.func @mixed
// CHECK-NEXT: %[[Y:.*]] = aten.view_as_real_copy %y
// CHECK-NEXT: aten.select.int %[[Y]] {dim = -1, index = 0}
// CHECK-NEXT: aten.select.int %[[Y]] {dim = -1, index = 1}
// CHECK-NEXT: aten.select.int %x {dim = -1, index = 0}
// CHECK-NOT:  complex
// CHECK:      aten.cat
