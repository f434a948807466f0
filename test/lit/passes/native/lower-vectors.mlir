// RUN: et-opt -p 'lower-vectors{lanes=16}' %s | filecheck %s
// RUN: et-opt -p 'lower-vectors{lanes=8}' %s | filecheck %s --check-prefix=EIGHT

// CHECK:      func.func @rows(
// CHECK:        %[[AT:.*]] = arith.addi %i, %{{.*}} : index
// CHECK-NEXT:   %[[V0:.*]] = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
// CHECK-NEXT:   %[[V1:.*]] = vector.load %x[%[[AT]]] : memref<?xf32>, vector<16xf32>
// CHECK-NEXT:   %{{.*}} = arith.negf %[[V0]] : vector<16xf32>
// CHECK-NEXT:   %{{.*}} = arith.negf %[[V1]] : vector<16xf32>
// EIGHT:      func.func @rows(
// EIGHT-COUNT-4: vector.load
// EIGHT-COUNT-4: arith.negf
func.func @rows(%x: memref<?xf32>, %i: index) {
  %v = vector.load %x[%i] : memref<?xf32>, vector<32xf32>
  %w = arith.negf %v : vector<32xf32>
  vector.store %w, %x[%i] : memref<?xf32>, vector<32xf32>
  func.return
}

// A column is broadcast element by element.
// CHECK:      func.func @tile(
// CHECK:        %[[A:.*]] = memref.load %a[%i, %{{.*}}] : memref<?x?xf32>
// CHECK-NEXT:   %[[B:.*]] = vector.broadcast %[[A]] : f32 to vector<16xf32>
// CHECK-NEXT:   %{{.*}} = vector.fma %[[B]], %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:        %{{.*}} = memref.load %a[%{{.*}}] : memref<?x?xf32>
// CHECK:        %{{.*}} = vector.fma
// CHECK-NOT:    native.
// CHECK:        vector.store
// CHECK:        vector.store
func.func @tile(%a: memref<?x?xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %w = vector.load %a[%i, %c0] : memref<?x?xf32>, vector<16xf32>
  %c = native.strided_load %a[%i, %c0] dim 0 stride 1 : memref<?x?xf32>, vector<2xf32>
  %zero = arith.constant dense<0.0> : vector<2x16xf32>
  %p = native.outer_product %c, %w, %zero : vector<2xf32>, vector<16xf32>, vector<2x16xf32> -> vector<2x16xf32>
  vector.store %p, %a[%i, %c0] : memref<?x?xf32>, vector<2x16xf32>
  func.return
}
