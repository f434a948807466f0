// RUN: et-opt -p distribute-loops %s | filecheck %s

// CHECK:      func.func private @fill(%x: memref<?xf32>, %thread: index, %threads: index) {
// CHECK:        %[[TILES:.*]] = arith.divui %{{.*}}, %c8 : index
// CHECK-NEXT:   %[[MINE:.*]] = arith.muli %[[TILES]], %thread : index
// CHECK-NEXT:   %[[FIRST:.*]] = arith.divui %[[MINE]], %threads : index
// CHECK:        %[[UPPER:.*]] = arith.minsi %{{.*}}, %n : index
// CHECK-NEXT:   scf.for %i = %{{.*}} to %[[UPPER]] step %c8 {
// CHECK-NEXT:     vector.store %v, %x[%i] : memref<?xf32>, vector<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   native.barrier
// CHECK-NEXT:   func.return
func.func private @fill(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant dense<1.0> : vector<8xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  "scf.parallel"(%c0, %n, %c8) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    vector.store %v, %x[%i] : memref<?xf32>, vector<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Calls pass on the numbers; there is no barrier where there is no parallel loop.
// CHECK:      func.func @forward(%x: memref<?xf32>, %thread: index, %threads: index) {
// CHECK-NEXT:   func.call @fill(%x, %thread, %threads) : (memref<?xf32>, index, index) -> ()
// CHECK-NEXT:   func.return
func.func @forward(%x: memref<?xf32>) {
  func.call @fill(%x) : (memref<?xf32>) -> ()
  func.return
}

// A part is of the threads that share a loop; the other threads have an empty one.
// CHECK:      func.func private @part(%n: index, %x: memref<?xf32>, %thread: index, %threads: index) {
// CHECK:        %[[SHARING:.*]] = arith.minsi %threads, %{{.*}} : index
// CHECK-NEXT:   %[[NUMBER:.*]] = arith.minsi %thread, %[[SHARING]] : index
// CHECK:        %[[MINE:.*]] = arith.muli %n, %[[NUMBER]] : index
// CHECK-NEXT:   %[[FIRST:.*]] = arith.divui %[[MINE]], %[[SHARING]] : index
// CHECK:        scf.for %i = %[[FIRST]] to %{{.*}} step %c1 {
// CHECK-NOT:    native.part
func.func private @part(%n: index, %x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %v = arith.constant dense<1.0> : vector<8xf32>
  %first, %last, %number = native.part %n most 4
  scf.for %i = %first to %last step %c1 {
    vector.store %v, %x[%number] : memref<?xf32>, vector<8xf32>
  }
  native.barrier
  func.return
}

// CHECK:      func.func private @whole_part(%n: index, %x: memref<?xf32>, %thread: index, %threads: index) {
// CHECK:        %[[MINE:.*]] = arith.muli %n, %thread : index
// CHECK-NEXT:   %[[FIRST:.*]] = arith.divui %[[MINE]], %threads : index
// CHECK:        scf.for %i = %[[FIRST]] to %{{.*}} step %c1 {
// CHECK-NOT:    native.part
func.func private @whole_part(%n: index, %x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %v = arith.constant dense<1.0> : vector<8xf32>
  %first, %last, %number = native.part %n
  scf.for %i = %first to %last step %c1 {
    vector.store %v, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  native.barrier
  func.return
}

// The first thread makes calls with little work as the only one, and the others wait for it once. What is between
// them computes sizes.
// CHECK:      func.func @short(%x: memref<?xf32>, %y: memref<?xf32>, %thread: index, %threads: index) {
// CHECK-NEXT:   func.call @fill(%x, %thread, %threads)
// CHECK:        %[[N:.*]] = memref.dim %y
// CHECK:        %[[IS_FIRST:.*]] = arith.cmpi eq, %thread, %[[ZERO:.*]] : index
// CHECK-NEXT:   scf.if %[[IS_FIRST]] {
// CHECK-NEXT:     func.call @fill(%x, %[[ZERO]], %[[ONE:.*]]) : (memref<?xf32>, index, index) -> ()
// CHECK-NEXT:     func.call @fill(%y, %[[ZERO]], %[[ONE]]) : (memref<?xf32>, index, index) -> ()
// CHECK-NEXT:   }
// CHECK-NEXT:   native.barrier
// CHECK-NEXT:   func.call @part(%[[N]], %x, %thread, %threads)
// CHECK:        scf.if
// CHECK-NEXT:     func.call @fill
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
func.func @short(%x: memref<?xf32>, %y: memref<?xf32>) {
  func.call @fill(%x) : (memref<?xf32>) -> ()
  func.call @fill(%x) {native.serial} : (memref<?xf32>) -> ()
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  func.call @fill(%y) {native.serial} : (memref<?xf32>) -> ()
  func.call @part(%n, %x) : (index, memref<?xf32>) -> ()
  func.call @fill(%x) {native.serial} : (memref<?xf32>) -> ()
  func.return
}

// Threads may still be in a function without a barrier at its end.
// CHECK:      func.func @behind(
// CHECK-NEXT:   func.call @store(%x, %thread, %threads)
// CHECK-NEXT:   native.barrier
// CHECK:        scf.if
func.func private @store(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  memref.store %v, %x[%c0] : memref<?xf32>
  func.return
}
func.func @behind(%x: memref<?xf32>) {
  func.call @store(%x) : (memref<?xf32>) -> ()
  func.call @fill(%x) {native.serial} : (memref<?xf32>) -> ()
  func.return
}
