// RUN: et-opt -p memory-formats-to-dim-orders --verify-diagnostics %s

// expected-error@below {{input 0: dim order [0, 1] does not fit tensor<4xf32>}}
func.func @forward(%x: tensor<4xf32> {program.dim_order = array<i64: 0, 1>}) -> tensor<4xf32> {
  // expected-error@below {{memory_format = channels_last needs a tensor of rank 4, got tensor<4xf32>}}
  %0 = edge.clone %x {memory_format = "channels_last"} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
