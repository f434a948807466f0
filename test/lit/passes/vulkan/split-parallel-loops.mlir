// RUN: et-opt -p split-parallel-loops %s | filecheck %s

// A function with two loops becomes two, and a call of it two calls. Each has the arithmetic that its loop reads.
// CHECK:      func.func private @both_part_0(%x: memref<?xf32>, %y: memref<?xf32>) {
// CHECK-NOT:    memref.dim %y
// CHECK:        scf.parallel
// CHECK-NOT:    scf.parallel
// CHECK:      func.func private @both_part_1(%x: memref<?xf32>, %y: memref<?xf32>) {
// CHECK-NOT:    memref.dim %x
// CHECK:        scf.parallel
// CHECK-NOT:    scf.parallel
func.func private @both(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %one = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %one, %x[%i] : memref<?xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  "scf.parallel"(%c0, %m, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %one, %y[%i] : memref<?xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// One loop is left as it is.
// CHECK:      func.func private @single(%x: memref<8xf32>) {
func.func private @single(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %one, %x[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK:      func.func @forward(%x: memref<8xf32>, %a: memref<?xf32>) {
// CHECK-NEXT:   func.call @both_part_0(%a, %a)
// CHECK-NEXT:   func.call @both_part_1(%a, %a)
// CHECK-NEXT:   func.call @single(%x)
// CHECK-NEXT:   func.return
func.func @forward(%x: memref<8xf32>, %a: memref<?xf32>) {
  func.call @both(%a, %a) : (memref<?xf32>, memref<?xf32>) -> ()
  func.call @single(%x) : (memref<8xf32>) -> ()
  func.return
}
