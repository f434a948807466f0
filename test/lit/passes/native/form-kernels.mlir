// RUN: et-opt -p form-kernels --split-input-file %s | filecheck %s

// What alone reads a product is computed with it.
// CHECK:      func.func @forward(
// CHECK-NEXT:   %0 = native.kernel "product"(%x, %w) : (tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32> {
// CHECK-NEXT:   ^bb0(%x_1: tensor<5x8xf32>, %w_1: tensor<8x20xf32>):
// CHECK-NEXT:     %1 = edge.mm %x_1, %w_1 : (tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
// CHECK-NEXT:     %2 = edge.relu %1 : tensor<5x20xf32>
// CHECK-NEXT:     native.yield %2 : tensor<5x20xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %0 : tensor<5x20xf32>
func.func @forward(%x: tensor<5x8xf32>, %w: tensor<8x20xf32>) -> tensor<5x20xf32> {
  %0 = edge.mm %x, %w : (tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
  %1 = edge.relu %0 : tensor<5x20xf32>
  func.return %1 : tensor<5x20xf32>
}

// -----

// A result that two kernels read is written to memory; so is what a product reads.
// CHECK:      func.func @apart(
// CHECK-NEXT:   %0 = native.kernel "pointwise"(%x)
// CHECK:        %{{.*}} = native.kernel "product"(%0, %w)
// CHECK:        %{{.*}} = native.kernel "product"(%0, %w)
func.func @apart(%x: tensor<5x8xf32>, %w: tensor<8x20xf32>) -> (tensor<5x20xf32>, tensor<5x20xf32>) {
  %0 = edge.relu %x : tensor<5x8xf32>
  %1 = edge.mm %0, %w : (tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
  %2 = edge.mm %0, %w : (tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
  func.return %1, %2 : tensor<5x20xf32>, tensor<5x20xf32>
}

// -----

// Ops without a rule stay as they are.
// CHECK:      func.func @left(
// CHECK-NEXT:   %0 = edge.logcumsumexp %x
// CHECK-NOT:    native.kernel
func.func @left(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %0 = edge.logcumsumexp %x {dim = 1} : tensor<5x8xf32>
  func.return %0 : tensor<5x8xf32>
}
