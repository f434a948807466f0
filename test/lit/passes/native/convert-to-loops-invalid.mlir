// RUN: et-opt -p convert-to-loops --verify-diagnostics %s

func.func @forward(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // expected-error@+1 {{'edge.relu' is in no kernel}}
  %0 = edge.relu %x : tensor<5x8xf32>
  func.return %0 : tensor<5x8xf32>
}
