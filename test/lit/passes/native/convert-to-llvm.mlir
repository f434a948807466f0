// RUN: et-opt -p convert-to-llvm %s | filecheck %s
// RUN: et-opt -p convert-to-llvm %s | et-opt | filecheck %s

// A buffer is a pointer, and the sizes that its type does not say.
// CHECK:      llvm.func internal @kernel(%context: !llvm.ptr, %x: !llvm.ptr, %[[N:.*]]: i64, %thread: i64, %threads: i64) {
// CHECK:        %{{.*}} = llvm.icmp "slt"
// CHECK-NEXT:   llvm.cond_br
// CHECK-NEXT: ^bb1(%[[I:.*]]: i64):
// CHECK-NEXT:   %[[AT:.*]] = llvm.mul %[[I]], %{{.*}} : i64
// CHECK-NEXT:   %[[P:.*]] = llvm.getelementptr %x[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:   %[[V:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK:        llvm.call @native_barrier(%context, %threads)
// CHECK-NEXT:   llvm.return
func.func private @kernel(%x: memref<?x8xf32>, %thread: index, %threads: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %v = vector.load %x[%i, %c0] : memref<?x8xf32>, vector<8xf32>
    %w = arith.negf %v : vector<8xf32>
    vector.store %w, %x[%i, %c0] : memref<?x8xf32>, vector<8xf32>
  }
  native.barrier
  func.return
}

// What is reported is in the context.
// CHECK:      llvm.func internal @update(%context_1: !llvm.ptr,
// CHECK:        %[[AT:.*]] = llvm.getelementptr %context_1[192] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NEXT:   %[[NUMBER:.*]] = llvm.load %[[AT]] {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK-NEXT:   %{{.*}} = llvm.icmp "ne" %[[NUMBER]], %{{.*}} : i32
func.func private @update(%x: memref<?xf32>, %thread: index, %threads: index) {
  %c0 = arith.constant 0 : index
  %failed = native.reported
  scf.if %failed {
  } else {
    %v = memref.load %x[%c0] : memref<?xf32>
    memref.store %v, %x[%c0] : memref<?xf32>
  }
  func.return
}

// CHECK:      llvm.func @forward(%context_2: !llvm.ptr, %x_2: !llvm.ptr, %thread_2: i64, %threads_2: i64) {
// CHECK:        llvm.call @kernel(
// CHECK:      llvm.func @native_entry(
// CHECK:        llvm.call @forward(
// CHECK:      llvm.func @native_barrier(!llvm.ptr, i64)
func.func @forward(%x: memref<16xf32>, %thread: index, %threads: index) {
  %c2 = arith.constant 2 : index
  %y = memref.reinterpret_cast %x to offset: [0], sizes: [%c2, 8], strides: [8, 1] : memref<16xf32> to memref<?x8xf32>
  func.call @kernel(%y, %thread, %threads) : (memref<?x8xf32>, index, index) -> ()
  func.return
}
