// RUN: et-opt -p recompute-masks --split-input-file %s | filecheck %s
// RUN: et-opt -p 'recompute-masks,fuse-attention,form-kernels' --split-input-file %s | filecheck %s --check-prefix=KERNELS

// What has an element for each query and key is computed where it is read: by attention, and by a reduction.
// CHECK-LABEL: func.func @positions
// CHECK:         %[[P:.*]] = edge.view_copy %p {size = [1, 1, 40, 1]} : (tensor<40x1xi64>) -> tensor<1x1x40x1xi64>
// CHECK-NEXT:    %[[M:.*]] = edge.le.Tensor %k, %[[P]] : (tensor<64xi64>, tensor<1x1x40x1xi64>) -> tensor<1x1x40x64xi1>
// CHECK-NEXT:    edge.where.self %[[M]]
// CHECK-NEXT:    %[[C:.*]] = edge.le.Tensor %k, %[[P]]
// CHECK-NEXT:    edge.any.dim %[[C]]
// CHECK-NOT:     edge.view_copy {{.*}}xi1>

// KERNELS-LABEL: func.func @positions
// KERNELS:         native.kernel "rows"(%k, %{{.*}}) : (tensor<64xi64>, tensor<1x1x40x1xi64>) -> tensor<1x1x40x1xi1> {
// KERNELS:           edge.le.Tensor
// KERNELS:           edge.any.dim
// KERNELS:         native.kernel "attention"(%q, {{.*}}) : {{.*}} tensor<64xi64>, tensor<1x1x40x1xi64>, {{.*}} -> tensor<1x4x40x16xf32> {
// KERNELS:           edge.le.Tensor
// KERNELS:           edge.where.self
// KERNELS-NOT:     native.kernel "pointwise"
func.func @positions(%q: tensor<4x40x16xf32>, %key: tensor<4x16x64xf32>, %v: tensor<4x64x16xf32>, %k: tensor<64xi64>, %p: tensor<40x1xi64>, %zero: tensor<f32>, %low: tensor<f32>) -> (tensor<1x4x40x16xf32>, tensor<1x1x40x1xi1>) {
  %0 = edge.le.Tensor %k, %p : (tensor<64xi64>, tensor<40x1xi64>) -> tensor<40x64xi1>
  %1 = edge.view_copy %0 {size = [1, 1, 40, 64]} : (tensor<40x64xi1>) -> tensor<1x1x40x64xi1>
  %2 = edge.where.self %1, %zero, %low : (tensor<1x1x40x64xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x40x64xf32>
  %3 = edge.any.dim %1 {dim = -1, keepdim = true} : (tensor<1x1x40x64xi1>) -> tensor<1x1x40x1xi1>
  %4 = edge.bmm %q, %key : (tensor<4x40x16xf32>, tensor<4x16x64xf32>) -> tensor<4x40x64xf32>
  %5 = edge.view_copy %4 {size = [1, 4, 40, 64]} : (tensor<4x40x64xf32>) -> tensor<1x4x40x64xf32>
  %6 = edge.add.Tensor %5, %2 : (tensor<1x4x40x64xf32>, tensor<1x1x40x64xf32>) -> tensor<1x4x40x64xf32>
  %7 = edge._softmax %6 {dim = -1, half_to_float = false} : tensor<1x4x40x64xf32>
  %8 = edge.view_copy %7 {size = [4, 40, 64]} : (tensor<1x4x40x64xf32>) -> tensor<4x40x64xf32>
  %9 = edge.bmm %8, %v : (tensor<4x40x64xf32>, tensor<4x64x16xf32>) -> tensor<4x40x16xf32>
  %10 = edge.view_copy %9 {size = [1, 4, 40, 16]} : (tensor<4x40x16xf32>) -> tensor<1x4x40x16xf32>
  func.return %10, %3 : tensor<1x4x40x16xf32>, tensor<1x1x40x1xi1>
}

// -----

// Integers are divided once, and functions computed once.
// CHECK-LABEL: func.func @slow
// KERNELS-LABEL: func.func @slow
// KERNELS:         native.kernel "pointwise"
// KERNELS:           edge.remainder.Scalar
// KERNELS:         native.kernel "attention"
// KERNELS-NOT:       edge.remainder.Scalar
// KERNELS:           edge.le.Tensor
func.func @slow(%q: tensor<4x40x16xf32>, %key: tensor<4x16x64xf32>, %v: tensor<4x64x16xf32>, %k: tensor<64xi64>, %p: tensor<40x1xi64>, %zero: tensor<f32>, %low: tensor<f32>) -> tensor<4x40x16xf32> {
  %0 = edge.remainder.Scalar %k {other = 48} : tensor<64xi64>
  %1 = edge.le.Tensor %0, %p : (tensor<64xi64>, tensor<40x1xi64>) -> tensor<40x64xi1>
  %2 = edge.where.self %1, %zero, %low : (tensor<40x64xi1>, tensor<f32>, tensor<f32>) -> tensor<40x64xf32>
  %3 = edge.bmm %q, %key : (tensor<4x40x16xf32>, tensor<4x16x64xf32>) -> tensor<4x40x64xf32>
  %4 = edge.add.Tensor %3, %2 : (tensor<4x40x64xf32>, tensor<40x64xf32>) -> tensor<4x40x64xf32>
  %5 = edge._softmax %4 {dim = -1, half_to_float = false} : tensor<4x40x64xf32>
  %6 = edge.bmm %5, %v : (tensor<4x40x64xf32>, tensor<4x64x16xf32>) -> tensor<4x40x16xf32>
  func.return %6 : tensor<4x40x16xf32>
}

// -----

// What is read twice is computed once, in attention and before a reduction.
// CHECK-LABEL: func.func @read_twice
// CHECK-COUNT-1:   edge.view_copy %p
// CHECK-NOT:       edge.view_copy
// CHECK-COUNT-2:   edge.sub.Tensor
// CHECK-NEXT:      edge.mul.Tensor
// CHECK-NEXT:      edge.add.Tensor
// CHECK-NEXT:      edge.amax
// CHECK-NOT:       edge.sub.Tensor
func.func @read_twice(%q: tensor<1x40x16xf32>, %key: tensor<1x16x64xf32>, %v: tensor<1x64x16xf32>, %k: tensor<64xf32>, %p: tensor<40x1xf32>) -> (tensor<1x40x16xf32>, tensor<1x40x1xf32>) {
  %0 = edge.sub.Tensor %k, %p : (tensor<64xf32>, tensor<40x1xf32>) -> tensor<40x64xf32>
  %1 = edge.mul.Tensor %0, %0 : tensor<40x64xf32>
  %2 = edge.add.Tensor %1, %0 : tensor<40x64xf32>
  %3 = edge.view_copy %2 {size = [1, 40, 64]} : (tensor<40x64xf32>) -> tensor<1x40x64xf32>
  %4 = edge.amax %3 {dim = [-1], keepdim = true} : (tensor<1x40x64xf32>) -> tensor<1x40x1xf32>
  %5 = edge.bmm %q, %key : (tensor<1x40x16xf32>, tensor<1x16x64xf32>) -> tensor<1x40x64xf32>
  %6 = edge.add.Tensor %5, %3 : tensor<1x40x64xf32>
  %7 = edge._softmax %6 {dim = -1, half_to_float = false} : tensor<1x40x64xf32>
  %8 = edge.bmm %7, %v : (tensor<1x40x64xf32>, tensor<1x64x16xf32>) -> tensor<1x40x16xf32>
  func.return %8, %4 : tensor<1x40x16xf32>, tensor<1x40x1xf32>
}
