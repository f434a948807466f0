// RUN: et-opt -p form-kernels --split-input-file %s | filecheck %s

// A bias for each column is added in tiles.
// CHECK:      func.func @columns(
// CHECK-NEXT:   %{{.*}} = native.kernel "product"(%b, %x, %y)
// CHECK:          edge.addmm
// CHECK:        func.return
func.func @columns(%b: tensor<20xf32>, %x: tensor<5x8xf32>, %y: tensor<8x20xf32>) -> tensor<5x20xf32> {
  %0 = edge.addmm %b, %x, %y : (tensor<20xf32>, tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
  func.return %0 : tensor<5x20xf32>
}

// -----

// Tiles have no place for one for each row: it is added by a kernel of its own.
// CHECK:      func.func @rows(
// CHECK-NEXT:   %[[P:.*]] = native.kernel "product"(%x, %y)
// CHECK:          edge.mm
// CHECK-NEXT:     native.yield
// CHECK:        %[[B:.*]] = native.kernel "pointwise"(%b) : (tensor<5x1xf32>) -> tensor<5x1xf32>
// CHECK:          edge.mul.Scalar {{.*}} {other = 0.5}
// CHECK:        %{{.*}} = native.kernel "pointwise"(%[[P]], %[[B]])
// CHECK:          edge.mul.Scalar {{.*}} {other = 2.0}
// CHECK-NEXT:     edge.add.Tensor
func.func @rows(%b: tensor<5x1xf32>, %x: tensor<5x8xf32>, %y: tensor<8x20xf32>) -> tensor<5x20xf32> {
  %0 = edge.addmm %b, %x, %y {beta = 0.5, alpha = 2.0} : (tensor<5x1xf32>, tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
  func.return %0 : tensor<5x20xf32>
}

// -----

// A bias that is scaled by 0 is not read.
// CHECK:      func.func @none(
// CHECK-NEXT:   %[[P:.*]] = native.kernel "product"(%x, %y)
// CHECK:        func.return %[[P]]
func.func @none(%b: tensor<5x1xf32>, %x: tensor<5x8xf32>, %y: tensor<8x20xf32>) -> tensor<5x20xf32> {
  %0 = edge.addmm %b, %x, %y {beta = 0.0} : (tensor<5x1xf32>, tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
  func.return %0 : tensor<5x20xf32>
}
