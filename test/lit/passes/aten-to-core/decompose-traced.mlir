// RUN: et-opt -p decompose-traced --split-input-file %s | filecheck %s

// An op that is not core becomes what torch's decomposition of it comes down to.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.celu %x {alpha = 2.0} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NOT:  aten.celu
// CHECK:      %[[EXP:.*]] = aten.expm1
// CHECK:      %[[NEG:.*]] = aten.mul.Tensor %[[EXP]]
// CHECK:      %[[POS:.*]] = aten.gt.Scalar %x {other = 0}
// CHECK-NEXT: %[[ALL:.*]] = aten.where.self %[[POS]], %x, %[[NEG]]
// CHECK-NEXT: func.return %[[ALL]]

// -----

// Several results, and views.
func.func @forward(%x: tensor<2x5xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0, %1 = aten.std_mean.dim %x {dim = [1]} : (tensor<2x5xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// CHECK:      func.func @forward
// CHECK:      aten.var.correction %x {dim = [1]
// CHECK:      aten.sqrt

// -----

// Core ATen stays as it is.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.gelu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.gelu %x : tensor<4xf32>
// CHECK-NEXT: func.return

// -----

// So does what torch has no decomposition for.
func.func @forward(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<0xi64>, tensor<0xi64>) {
  %0, %1, %2 = aten._unique2 %x : (tensor<4xf32>) -> (tensor<?xf32>, tensor<0xi64>, tensor<0xi64>)
  func.return %0, %1, %2 : tensor<?xf32>, tensor<0xi64>, tensor<0xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten._unique2 %x
// CHECK-NEXT: func.return

// -----

// Sizes that are known at run time only are those of operands.
func.func @forward(%x: tensor<?x4xf32>) -> tensor<?x2xf32> {
  %0 = aten.glu %x : (tensor<?x4xf32>) -> tensor<?x2xf32>
  func.return %0 : tensor<?x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[X:.*]] = aten.slice.Tensor %x {dim = 1, start = 0, end = 2}
// CHECK-NEXT: %[[GATE:.*]] = aten.slice.Tensor %x {dim = 1, start = 2, end = 4}
// CHECK-NEXT: %[[SIGMOID:.*]] = aten.sigmoid %[[GATE]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[X]], %[[SIGMOID]]
// CHECK-NEXT: func.return %[[MUL]]

// -----

// One that no tensor has yet is made out by the view.
func.func @forward(%x: tensor<8x?x4xf32>) -> tensor<2x?x8xf32> {
  %0 = aten.pixel_shuffle %x {upscale_factor = 2} : (tensor<8x?x4xf32>) -> tensor<2x?x8xf32>
  func.return %0 : tensor<2x?x8xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[HEIGHT:.*]] = aten.sym_size.int %x {dim = 1}
// CHECK-NEXT: %[[BLOCKS:.*]] = aten.view %x {size = [2, 2, 2, %[[HEIGHT]], 4]}
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %[[BLOCKS]] {dims = [0, 3, 1, 4, 2]}
// CHECK-NEXT: %[[CLONE:.*]] = aten.clone %[[PERMUTE]]
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[CLONE]] {size = [2, -1, 8]}

// -----

// What a size has to be a multiple of something for stays, as not every size is.
func.func @forward(%x: tensor<2x?x4xf32>) -> tensor<8x?x2xf32> {
  %0 = aten.pixel_unshuffle %x {downscale_factor = 2} : (tensor<2x?x4xf32>) -> tensor<8x?x2xf32>
  func.return %0 : tensor<8x?x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.pixel_unshuffle %x {downscale_factor = 2}

// -----

// A leaf, which nothing decomposes, stays in what others come down to.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mvlgamma %x {p = 2} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NOT:  aten.mvlgamma
// CHECK:      aten.lgamma

// -----

// Torch marks a tensor as conjugate instead of computing it; a graph has no marks.
func.func @forward(%x: tensor<2x6xf32>) -> (tensor<2x6xcomplex<f32>>, tensor<2x4xcomplex<f32>>) {
  %0 = aten.fft_ifft %x : (tensor<2x6xf32>) -> tensor<2x6xcomplex<f32>>
  %1 = aten.fft_ihfft %x : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
  func.return %0, %1 : tensor<2x6xcomplex<f32>>, tensor<2x4xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ALL:.*]] = aten._fft_r2c %x {dim = [1], normalization = 2, onesided = false}
// CHECK-NEXT: %[[CONJ:.*]] = aten._conj_physical %[[ALL]]
// CHECK-NEXT: %[[HALF:.*]] = aten._fft_r2c %x {dim = [1], normalization = 2, onesided = true}
// CHECK-NEXT: %[[CONJ2:.*]] = aten._conj_physical %[[HALF]]
// CHECK-NEXT: func.return %[[CONJ]], %[[CONJ2]]

// -----

func.func @forward(%x: tensor<2x6xf32>) -> (tensor<2x4xcomplex<f32>>, tensor<2x10xf32>) {
  %0 = aten.fft_ihfft2 %x : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
  %1 = aten.fft_hfft2 %x : (tensor<2x6xf32>) -> tensor<2x10xf32>
  func.return %0, %1 : tensor<2x4xcomplex<f32>>, tensor<2x10xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten._fft_r2c %x {dim = [1]
// CHECK-NEXT: aten._conj_physical
// CHECK-NEXT: aten._fft_c2c
// CHECK:      aten._fft_c2c
// CHECK-NEXT: %[[CONJ:.*]] = aten._conj_physical
// CHECK-NEXT: aten._fft_c2r %[[CONJ]]

// -----

func.func @forward(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = aten._conj %x : tensor<2xcomplex<f32>>
  func.return %0 : tensor<2xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONJ:.*]] = aten._conj_physical %x
// CHECK-NEXT: func.return %[[CONJ]]

// -----

// A number known at run time only stays one.
func.func @forward(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %n = aten.sym_size.int %x {dim = 0} : (tensor<?x4xf32>) -> i64
  %0 = aten.threshold %x {threshold = 0.5, value = %n} : (tensor<?x4xf32>, i64) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[N:.*]] = aten.sym_size.int %x {dim = 0}
// CHECK-NOT:  aten.threshold
// CHECK:      %[[N]]
// CHECK:      aten.where.self

// -----

// A view of the same bytes as another type shows the memory of its operand, which a trace has none of: it stays.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xi32> {
  %0 = aten.view.dtype %x {dtype = i32} : (tensor<4xf32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.view.dtype %x {dtype = i32}
// CHECK-NEXT: func.return

// -----

// A result whose type tells less than the decomposition does.
// CHECK-LABEL: func.func @told_less
// CHECK-NOT:     aten.square
// CHECK:         func.return %{{.*}} : tensor<4xi32>
func.func @told_less(%x: tensor<4xi32>) -> tensor<?xi32> {
  %0 = aten.square %x : (tensor<4xi32>) -> tensor<?xi32>
  func.return %0 : tensor<?xi32>
}
