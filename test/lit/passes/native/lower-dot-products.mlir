// RUN: et-opt -p 'lower-vectors{lanes=16},convert-to-llvm' %s | filecheck %s --check-prefix=SIXTEEN
// RUN: et-opt -p 'lower-vectors{lanes=8},convert-to-llvm' %s | filecheck %s --check-prefix=EIGHT
// RUN: et-opt -p 'lower-vectors{lanes=4},convert-to-llvm' %s | filecheck %s --check-prefix=FOUR

// One instruction for each vector of AVX-512; pairs of bytes widened to 16 bits with AVX2, whose sums do not saturate.
// SIXTEEN-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// SIXTEEN-NOT:     llvm.call_intrinsic "llvm.x86
// EIGHT-COUNT-8:   llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// EIGHT-NOT:       llvm.call_intrinsic "llvm.x86
// FOUR-NOT:        llvm.x86
// FOUR-COUNT-32:   llvm.mul %{{.*}} : vector<4xi32>
func.func private @dot(%x: memref<32xi32>, %thread: index, %threads: index) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<32xi32>, vector<32xi32>
  %0 = native.dot %a, %a, %a : vector<32xi32>
  vector.store %0, %x[%c0] : memref<32xi32>, vector<32xi32>
  func.return
}
