// RUN: et-opt -p convert-to-spirv --split-input-file --verify-diagnostics %s

// expected-error@+1 {{'kernel' has 0 parallel loops, not one of one dimension}}
func.func private @kernel(%x: memref<4xf32>) {
  func.return
}

// -----

func.func private @kernel(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    // expected-error@+1 {{'vector.load' has no conversion to spirv}}
    %v = vector.load %x[%i] : memref<4xf32>, vector<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

func.func private @kernel(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    // expected-error@+1 {{invocations have 32,768 bytes of their own, more than 16,384}}
    %v = memref.alloca() : memref<8192xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

func.func @other(%x: memref<4xf32>) {
  func.return
}
func.func @forward(%x: memref<4xf32>) {
  // expected-error@+1 {{'other' is no kernel}}
  func.call @other(%x) : (memref<4xf32>) -> ()
  func.return
}
