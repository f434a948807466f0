// RUN: et-opt -p to-out-variant --split-input-file --verify-diagnostics %s

func.func @out_variant_c1(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[out_variant_c2] is not an edge operation}}
  %0 = aten.relu %x : tensor<4xf32>
  // expected-error@+1 {{[out_variant_c2] the backend 'demo' did not lower this partition}}
  %1 = backend.partition "demo"(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    backend.yield %a : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}

// -----

// expected-error@+1 {{[out_variant_c3] input 0 (x) has type tensor<?xf32> with unbounded sizes}}
func.func @out_variant_c3(%x: tensor<?xf32>) -> tensor<?xf32> {
  // What follows from it is not reported again.
  %0 = edge.relu %x : tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

func.func @out_variant_c3(%x: tensor<4xi64>, %n: tensor<i64>) -> (tensor<?xi64>, tensor<?xf32>) {
  // expected-error@+1 {{[out_variant_c3] a result has type tensor<?xi64> with unbounded sizes}}
  %0 = edge.bincount %x : (tensor<4xi64>) -> tensor<?xi64>
  %1 = edge._local_scalar_dense %n : (tensor<i64>) -> i64
  program.range %1 from 0
  // expected-error@+1 {{[out_variant_c3] a result has type tensor<?xf32> with unbounded sizes}}
  %2 = edge.full {size = [%1], fill_value = 1, dtype = f32} : (i64) -> tensor<?xf32>
  func.return %0, %2 : tensor<?xi64>, tensor<?xf32>
}

// -----

// expected-error@+1 {{[out_variant_c5] x has 17 dimensions; the runtime takes at most 16}}
func.func @out_variant_c5(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[out_variant_c5] a value has 17 dimensions}}
  %0 = edge.relu %x : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32>
  %1 = edge.view_copy %0 {size = [2]} : (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error@+1 {{[out_variant_c5] a value has a size of 2147483648; the runtime takes at most 2147483647}}
func.func @out_variant_c5(%0: tensor<2147483648xf32>) -> tensor<0x2147483647xf32> {
  %1 = edge.slice_copy.Tensor %0 {dim = 0, start = 0, end = 0, step = 1} : (tensor<2147483648xf32>) -> tensor<0xf32>
  %2 = edge.view_copy %1 {size = [0, 2147483647]} : (tensor<0xf32>) -> tensor<0x2147483647xf32>
  func.return %2 : tensor<0x2147483647xf32>
}

// -----

// expected-error@+1 {{[out_variant_c5] x has 9903520300447984150353281023 elements; the runtime takes at most}}
func.func @out_variant_c5(%x: tensor<?x?x?xf32, #program.sizes<s0, s0, s0>>)
    attributes {program.ranges = #program.ranges<s0 from 1 to 2147483647>} {
  func.return
}
