// RUN: et-opt -p plan-buffers %s | filecheck %s

// Buffers that do not live at the same time share their bytes.
// CHECK:      func.func @forward(%x: memref<16xf32>, %arena: memref<128xi8>) {
// CHECK-NEXT:   %[[A:.*]] = arith.constant [[AT:[0-9]+]] : index
// CHECK-NEXT:   %a = memref.view %arena[%[[A]]][] : memref<128xi8> to memref<16xf32>
// CHECK:        %b = memref.view %arena[%{{.*}}][] : memref<128xi8> to memref<16xf32>
// CHECK:        %[[C:.*]] = arith.constant [[AT]] : index
// CHECK-NEXT:   %c = memref.view %arena[%[[C]]][] : memref<128xi8> to memref<16xf32>
// CHECK-NOT:    memref.alloc
func.func private @copy(memref<16xf32>, memref<16xf32>)
func.func @forward(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  func.call @copy(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  %b = memref.alloc() : memref<16xf32>
  func.call @copy(%a, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  %c = memref.alloc() : memref<16xf32>
  func.call @copy(%b, %c) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @copy(%c, %x) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// CHECK:      func.func @without(%x: memref<16xf32>) {
func.func @without(%x: memref<16xf32>) {
  func.return
}
