// RUN: et-opt -p fuse-attention %s | filecheck %s
// RUN: et-opt -p 'fuse-attention,form-kernels,assign-layouts' %s | filecheck %s --check-prefix=LAYOUTS
// RUN: et-opt -p 'fuse-attention,form-kernels,assign-layouts,convert-to-loops{instruction-set=x86-64-v3}' %s | filecheck %s --check-prefix=LOOPS

// Products, softmax, and what is between them; the views of batches are in the kernel, that of the keys is before it.
// CHECK-LABEL: func.func @scaled
// CHECK:         %[[K:.*]] = edge.permute_copy %k
// CHECK-NEXT:    %[[R:.*]] = native.kernel "attention"(%q, %[[K]], %v, %m) : {{.*}} -> tensor<1x4x40x16xf32> {
// CHECK:           edge.bmm
// CHECK:           edge.div.Scalar
// CHECK:           edge.add.Tensor
// CHECK:           edge._softmax
// CHECK:           edge.bmm
// CHECK:           native.yield
// CHECK-NOT:     edge.bmm
// CHECK:         edge.permute_copy %[[R]]

// Nothing is transposed: matrices are read as they are in memory, and the result is written as it is wanted.
// LAYOUTS-LABEL: func.func @scaled
// LAYOUTS-NOT:     "transpose"
// LAYOUTS:         native.kernel "attention"
// LAYOUTS-SAME:      -> tensor<1x4x40x16xf32, #edge.dim_order<0, 2, 1, 3>>
// LAYOUTS-NOT:     "transpose"

// Keys and values are packed; they, and scores of a tile of queries, are in buffers on the stack.
// LOOPS:       func.func private @attention_0(
// LOOPS-DAG:     memref.alloca() {{.*}} : memref<5x64xf32>
// LOOPS-DAG:     memref.alloca() {{.*}} : memref<3x16x16xf32>
// LOOPS-DAG:     memref.alloca() {{.*}} : memref<1x48x16xf32>
// LOOPS:         native.part
// LOOPS:           native.outer_product
// LOOPS:           vector.reduction <maxnumf>
// LOOPS:           vector.reduction <add>
// LOOPS:           native.outer_product
func.func @scaled(%x: tensor<1x40x4x16xf32>, %y: tensor<1x40x4x16xf32>, %z: tensor<1x40x4x16xf32>, %m: tensor<40x40xf32>) -> tensor<1x40x4x16xf32> {
  %q = edge.permute_copy %x {dims = [0, 2, 1, 3]} : (tensor<1x40x4x16xf32>) -> tensor<1x4x40x16xf32>
  %k = edge.permute_copy %y {dims = [0, 2, 1, 3]} : (tensor<1x40x4x16xf32>) -> tensor<1x4x40x16xf32>
  %v = edge.permute_copy %z {dims = [0, 2, 1, 3]} : (tensor<1x40x4x16xf32>) -> tensor<1x4x40x16xf32>
  %t = edge.permute_copy %k {dims = [0, 1, 3, 2]} : (tensor<1x4x40x16xf32>) -> tensor<1x4x16x40xf32>
  %0 = edge.view_copy %q {size = [4, 40, 16]} : (tensor<1x4x40x16xf32>) -> tensor<4x40x16xf32>
  %1 = edge.view_copy %t {size = [4, 16, 40]} : (tensor<1x4x16x40xf32>) -> tensor<4x16x40xf32>
  %2 = edge.bmm %0, %1 : (tensor<4x40x16xf32>, tensor<4x16x40xf32>) -> tensor<4x40x40xf32>
  %3 = edge.view_copy %2 {size = [1, 4, 40, 40]} : (tensor<4x40x40xf32>) -> tensor<1x4x40x40xf32>
  %4 = edge.div.Scalar %3 {other = 4.0} : tensor<1x4x40x40xf32>
  %5 = edge.add.Tensor %4, %m : (tensor<1x4x40x40xf32>, tensor<40x40xf32>) -> tensor<1x4x40x40xf32>
  %6 = edge._softmax %5 {dim = -1, half_to_float = false} : tensor<1x4x40x40xf32>
  %7 = edge.view_copy %6 {size = [4, 40, 40]} : (tensor<1x4x40x40xf32>) -> tensor<4x40x40xf32>
  %8 = edge.view_copy %v {size = [4, 40, 16]} : (tensor<1x4x40x16xf32>) -> tensor<4x40x16xf32>
  %9 = edge.bmm %7, %8 : (tensor<4x40x40xf32>, tensor<4x40x16xf32>) -> tensor<4x40x16xf32>
  %10 = edge.view_copy %9 {size = [1, 4, 40, 16]} : (tensor<4x40x16xf32>) -> tensor<1x4x40x16xf32>
  %11 = edge.permute_copy %10 {dims = [0, 2, 1, 3]} : (tensor<1x4x40x16xf32>) -> tensor<1x40x4x16xf32>
  func.return %11 : tensor<1x40x4x16xf32>
}

// A softmax along another dimension is not one of scores of one query.
// CHECK-LABEL: func.func @columns
// CHECK-NOT:     native.kernel
func.func @columns(%q: tensor<4x40x16xf32>, %k: tensor<4x16x40xf32>, %v: tensor<4x40x16xf32>) -> tensor<4x40x16xf32> {
  %0 = edge.bmm %q, %k : (tensor<4x40x16xf32>, tensor<4x16x40xf32>) -> tensor<4x40x40xf32>
  %1 = edge._softmax %0 {dim = 1, half_to_float = false} : tensor<4x40x40xf32>
  %2 = edge.bmm %1, %v : (tensor<4x40x40xf32>, tensor<4x40x16xf32>) -> tensor<4x40x16xf32>
  func.return %2 : tensor<4x40x16xf32>
}

// What is read elsewhere has to be in memory.
// CHECK-LABEL: func.func @read
// CHECK-NOT:     native.kernel
func.func @read(%q: tensor<4x40x16xf32>, %k: tensor<4x16x40xf32>, %v: tensor<4x40x16xf32>) -> (tensor<4x40x16xf32>, tensor<4x40x40xf32>) {
  %0 = edge.bmm %q, %k : (tensor<4x40x16xf32>, tensor<4x16x40xf32>) -> tensor<4x40x40xf32>
  %1 = edge._softmax %0 {dim = -1, half_to_float = false} : tensor<4x40x40xf32>
  %2 = edge.bmm %1, %v : (tensor<4x40x40xf32>, tensor<4x40x16xf32>) -> tensor<4x40x16xf32>
  func.return %2, %1 : tensor<4x40x16xf32>, tensor<4x40x40xf32>
}
