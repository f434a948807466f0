// RUN: et-opt -p convert-to-llvm --split-input-file --verify-diagnostics %s

func.func private @kernel(%x: tensor<4xf32>) {
  // expected-error@+1 {{'edge.relu' has no conversion to llvm}}
  %0 = edge.relu %x : tensor<4xf32>
  func.return
}

// -----

// expected-error@+1 {{'forward' has an argument of type memref<?xf32>}}
func.func @forward(%x: memref<?xf32>, %thread: index, %threads: index) {
  func.return
}

// -----

// expected-error@+1 {{'forward' does not end with the number of the thread and of threads}}
func.func @forward(%x: memref<4xf32>) {
  func.return
}
