// RUN: et-opt -p split-parallel-loops --split-input-file --verify-diagnostics %s

func.func private @kernel(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  // expected-error@+1 {{'scf.for' is outside of a parallel loop}}
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %one, %x[%i] : memref<8xf32>
  }
  func.return
}
