// RUN: et-opt -p to-out-variant --split-input-file --verify-diagnostics %s

func.func @out_variant_c1(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[out_variant_c2] is no operation of the edge level}}
  %0 = aten.relu %x : tensor<4xf32>
  // expected-error@+1 {{[out_variant_c2] the backend 'demo' has not compiled this partition}}
  %1 = backend.partition "demo"(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    backend.yield %a : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}

// -----

// expected-error@+1 {{[out_variant_c3] input 0 (x) has type tensor<?xf32>, whose largest sizes are not known}}
func.func @out_variant_c3(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{[out_variant_c3] a result has type tensor<?xf32>}}
  %0 = edge.relu %x : tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
