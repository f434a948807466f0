// RUN: et-opt -p sequential-loops %s | filecheck %s

// CHECK-LABEL: func.func private @kernel(%x: memref<?xf32>, %n: index)
// CHECK-NOT: scf.parallel
// CHECK: scf.for %i = %c0 to %n step %c4 {
func.func private @kernel(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %n, %c4) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %x[%i] : memref<?xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// The only thread has all, and waits for nobody.
// CHECK-LABEL: func.func private @shared
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: memref.store %v, %x[%[[ZERO]]]
// CHECK-NEXT: memref.store %v, %x[%n]
// CHECK-NEXT: memref.store %v, %x[%[[ZERO]]]
// CHECK-NEXT: func.return
func.func private @shared(%x: memref<?xf32>, %n: index, %v: f32) {
  %first, %last, %number = native.part %n most 8
  memref.store %v, %x[%first] : memref<?xf32>
  memref.store %v, %x[%last] : memref<?xf32>
  memref.store %v, %x[%number] : memref<?xf32>
  native.barrier
  func.return
}
