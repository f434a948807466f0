// RUN: et-opt -p fuse-normalization --split-input-file %s | filecheck %s
// RUN: et-opt -p 'fuse-normalization,form-kernels,assign-layouts,convert-to-loops{instruction-set=x86-64-v3}' --split-input-file %s | filecheck %s --check-prefix=LOOPS

// RMSNorm: the row is read twice, from memory once.
// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT:    native.kernel "rows"(%x, %w) : (tensor<4x256xf32>, tensor<256xf32>) -> tensor<4x256xf32> {
// CHECK:           edge.mean.dim
// CHECK:           edge.rsqrt
// CHECK:           edge.mul.Tensor
// CHECK:           edge.mul.Tensor
// CHECK-NEXT:      native.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// LOOPS:       func.func private @mean_0(
// LOOPS:         "scf.parallel"
// LOOPS:           scf.for
// LOOPS:           vector.reduction <add>
// LOOPS:           math.sqrt
// LOOPS:           scf.for
// LOOPS:             vector.store
func.func @rms_norm(%x: tensor<4x256xf32>, %w: tensor<256xf32>) -> tensor<4x256xf32> {
  %0 = edge.mul.Tensor %x, %x : tensor<4x256xf32>
  %1 = edge.mean.dim %0 {dim = [-1], keepdim = true} : (tensor<4x256xf32>) -> tensor<4x1xf32>
  %2 = edge.add.Scalar %1 {other = 1.0e-05} : tensor<4x1xf32>
  %3 = edge.rsqrt %2 : tensor<4x1xf32>
  %4 = edge.mul.Tensor %x, %3 : (tensor<4x256xf32>, tensor<4x1xf32>) -> tensor<4x256xf32>
  %5 = edge.mul.Tensor %4, %w : (tensor<4x256xf32>, tensor<256xf32>) -> tensor<4x256xf32>
  func.return %5 : tensor<4x256xf32>
}

// -----

// A reduction that is a result too.
// CHECK-LABEL: func.func @read
// CHECK-NOT:     native.kernel
func.func @read(%x: tensor<4x256xf32>) -> (tensor<4x256xf32>, tensor<4x1xf32>) {
  %0 = edge.mean.dim %x {dim = [-1], keepdim = true} : (tensor<4x256xf32>) -> tensor<4x1xf32>
  %1 = edge.mul.Tensor %x, %0 : (tensor<4x256xf32>, tensor<4x1xf32>) -> tensor<4x256xf32>
  func.return %1, %0 : tensor<4x256xf32>, tensor<4x1xf32>
}

// -----

// Images, whose channels are innermost.
// CHECK-LABEL: func.func @image
// CHECK-NOT:     native.kernel
func.func @image(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %0 = edge.mean.dim %x {dim = [2, 3], keepdim = true} : (tensor<1x8x4x4xf32>) -> tensor<1x8x1x1xf32>
  %1 = edge.sub.Tensor %x, %0 : (tensor<1x8x4x4xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  func.return %1 : tensor<1x8x4x4xf32>
}
