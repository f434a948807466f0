// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// CHECK:      func.func @kernels(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT:   %0 = native.kernel "pointwise"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
// CHECK-NEXT:     %1 = edge.add.Tensor %a, %b : tensor<4xf32>
// CHECK-NEXT:     native.yield %1 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %{{.*}} = native.view %0 : tensor<4xf32> -> tensor<2x2xf32>
func.func @kernels(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = native.kernel "pointwise"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = edge.add.Tensor %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    native.yield %1 : tensor<4xf32>
  }
  %2 = native.view %0 : tensor<4xf32> -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}

// CHECK:      func.func @loops(%x: memref<?x?xf32>, %n: index) {
// CHECK:        scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:     %a = native.strided_load %x[%i, %c0] dim 0 stride 2 : memref<?x?xf32>, vector<3xf32>
// CHECK-NEXT:     %b = vector.load %x[%i, %c0] : memref<?x?xf32>, vector<4xf32>
// CHECK-NEXT:     %w = native.concat %b, %b : (vector<4xf32>, vector<4xf32>) -> vector<8xf32>
// CHECK-NEXT:     %p = native.outer_product %a, %w, %zero : vector<3xf32>, vector<8xf32>, vector<3x8xf32> -> vector<3x8xf32>
// CHECK-NEXT:     %m = native.compare "olt", %p, %zero : vector<3x8xf32>, vector<3x8xf32> -> vector<3x8xi1>
// CHECK-NEXT:     %s = native.select %m, %p, %zero : vector<3x8xi1>, vector<3x8xf32>
// CHECK:        %d = native.dot %q, %q, %q : vector<4xi32>
// CHECK-NEXT:   %e = native.convert "sitofp" %d : vector<4xi32> -> vector<4xf32>
// CHECK-NEXT:   native.prefetch %x[%n, %c0] : memref<?x?xf32>
// CHECK-NEXT:   %first, %last, %number = native.part %n most 8
// CHECK-NEXT:   %start, %end, %thread = native.part %n
// CHECK-NEXT:   native.report 3
// CHECK-NEXT:   %failed = native.reported
// CHECK-NEXT:   native.barrier
func.func @loops(%x: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : vector<3x8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %a = native.strided_load %x[%i, %c0] dim 0 stride 2 : memref<?x?xf32>, vector<3xf32>
    %b = vector.load %x[%i, %c0] : memref<?x?xf32>, vector<4xf32>
    %w = native.concat %b, %b : (vector<4xf32>, vector<4xf32>) -> vector<8xf32>
    %p = native.outer_product %a, %w, %zero : vector<3xf32>, vector<8xf32>, vector<3x8xf32> -> vector<3x8xf32>
    %m = native.compare "olt", %p, %zero : vector<3x8xf32>, vector<3x8xf32> -> vector<3x8xi1>
    %s = native.select %m, %p, %zero : vector<3x8xi1>, vector<3x8xf32>
    vector.store %s, %x[%i, %c0] : memref<?x?xf32>, vector<3x8xf32>
  }
  %q = arith.constant dense<0> : vector<4xi32>
  %d = native.dot %q, %q, %q : vector<4xi32>
  %e = native.convert "sitofp" %d : vector<4xi32> -> vector<4xf32>
  native.prefetch %x[%n, %c0] : memref<?x?xf32>
  %first, %last, %number = native.part %n most 8
  %start, %end, %thread = native.part %n
  native.report 3
  %failed = native.reported
  native.barrier
  func.return
}
