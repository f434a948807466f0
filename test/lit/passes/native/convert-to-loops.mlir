// RUN: et-opt -p 'convert-to-loops{instruction-set=x86-64-v3}' %s | filecheck %s
// RUN: et-opt -p 'convert-to-loops{instruction-set=x86-64-v3}' %s | et-opt | filecheck %s

// A kernel is a function of buffers; the last tile of a row is masked.
// CHECK:      func.func private @pointwise_0(%0: memref<?x?xf32>, %1: memref<?xf32>, %2: memref<?x?xf32>) {
// CHECK:        "scf.parallel"
// CHECK:          scf.for
// CHECK:            scf.if
// CHECK-NEXT:         %{{.*}} = vector.load %0[%{{.*}}] : memref<?x?xf32>, vector<[[LANES:[0-9]+]]xf32>
// CHECK-NEXT:         %{{.*}} = vector.load %1[
// CHECK-NEXT:         %{{.*}} = arith.addf
// CHECK-NEXT:         %{{.*}} = math.exp
// CHECK-NEXT:         vector.store
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %{{.*}} = vector.create_mask
// CHECK:              vector.maskedstore
// CHECK:      func.func @forward(%x: memref<40xf32>, %y: memref<8xf32>, %0: memref<40xf32>) {
// CHECK:        func.call @pointwise_0({{.*}}) {native.serial} :
// CHECK-NEXT:   func.return
func.func @forward(%x: tensor<5x8xf32>, %y: tensor<8xf32>) -> tensor<5x8xf32> {
  %0 = native.kernel "pointwise"(%x, %y) : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32> {
  ^bb0(%a: tensor<5x8xf32>, %b: tensor<8xf32>):
    %1 = edge.add.Tensor %a, %b : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
    %2 = edge.exp %1 : tensor<5x8xf32>
    native.yield %2 : tensor<5x8xf32>
  }
  func.return %0 : tensor<5x8xf32>
}
