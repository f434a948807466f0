// RUN: et-opt -p merge-kernels %s | filecheck %s
// RUN: et-opt -p merge-kernels %s | et-opt | filecheck %s

// Bounds and a distance that differ become arguments, once for all places that read the same numbers.
// CHECK:      func.func private @pad_0(%x: memref<?x?xf32>, %[[N:.*]]: index) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %v = arith.constant
// CHECK:        scf.for %i = %c0 to %[[N]] step %c1 {
// CHECK-NEXT:     %at = arith.addi %i, %[[N]] : index
// CHECK-NOT:  @pad_1
func.func private @pad_0(%x: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %v = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    %at = arith.addi %i, %c3 : index
    scf.for %k = %c0 to %c1 step %c1 {
      vector.store %v, %x[%at, %k] : memref<?x?xf32>, vector<16xf32>
    }
  }
  func.return
}
func.func private @pad_1(%x: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %v = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    %at = arith.addi %i, %c5 : index
    scf.for %k = %c0 to %c1 step %c1 {
      vector.store %v, %x[%at, %k] : memref<?x?xf32>, vector<16xf32>
    }
  }
  func.return
}

// A caller of merged functions passes the numbers, and may be merged itself.
// CHECK:      func.func private @layer_0(%x: memref<?x?xf32>, %[[M:.*]]: index) {
// CHECK:        func.call @pad_0(%x, %[[M]]) : (memref<?x?xf32>, index) -> ()
// CHECK-NOT:  @layer_1
func.func private @layer_0(%x: memref<?x?xf32>) {
  func.call @pad_0(%x) : (memref<?x?xf32>) -> ()
  func.return
}
func.func private @layer_1(%x: memref<?x?xf32>) {
  func.call @pad_1(%x) : (memref<?x?xf32>) -> ()
  func.return
}

// Three numbers of an innermost loop differ: too many. A divisor there stays a constant.
// CHECK:      func.func private @near_0(
// CHECK:      func.func private @near_1(
// CHECK:      func.func private @quotient_0(
// CHECK:      func.func private @quotient_1(
func.func private @near_0(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c1 step %c1 {
    %a = arith.addi %i, %c2 : index
    memref.store %v, %x[%a] : memref<?xf32>
    %b = arith.addi %i, %c3 : index
    memref.store %v, %x[%b] : memref<?xf32>
    %c = arith.addi %i, %c4 : index
    memref.store %v, %x[%c] : memref<?xf32>
  }
  func.return
}
func.func private @near_1(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %v = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c1 step %c1 {
    %a = arith.addi %i, %c5 : index
    memref.store %v, %x[%a] : memref<?xf32>
    %b = arith.addi %i, %c6 : index
    memref.store %v, %x[%b] : memref<?xf32>
    %c = arith.addi %i, %c7 : index
    memref.store %v, %x[%c] : memref<?xf32>
  }
  func.return
}
func.func private @quotient_0(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %v = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c1 step %c1 {
    %a = arith.divui %i, %c3 : index
    memref.store %v, %x[%a] : memref<?xf32>
  }
  func.return
}
func.func private @quotient_1(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %v = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c1 step %c1 {
    %a = arith.divui %i, %c5 : index
    memref.store %v, %x[%a] : memref<?xf32>
  }
  func.return
}

// CHECK:      func.func @forward(%x: memref<?x?xf32>, %y: memref<?xf32>) {
// CHECK-DAG:    %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG:    %[[FIVE:.*]] = arith.constant 5 : index
// CHECK:        func.call @layer_0(%x, %[[THREE]]) : (memref<?x?xf32>, index) -> ()
// CHECK-NEXT:   func.call @layer_0(%x, %[[FIVE]]) : (memref<?x?xf32>, index) -> ()
// CHECK-NEXT:   func.call @near_0(%y) : (memref<?xf32>) -> ()
// CHECK-NEXT:   func.call @near_1(%y) : (memref<?xf32>) -> ()
func.func @forward(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  func.call @layer_0(%x) : (memref<?x?xf32>) -> ()
  func.call @layer_1(%x) : (memref<?x?xf32>) -> ()
  func.call @near_0(%y) : (memref<?xf32>) -> ()
  func.call @near_1(%y) : (memref<?xf32>) -> ()
  func.call @quotient_0(%y) : (memref<?xf32>) -> ()
  func.call @quotient_1(%y) : (memref<?xf32>) -> ()
  func.return
}
