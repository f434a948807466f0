// RUN: et-opt -p decompose --no-verify --verify-diagnostics %s
// RUN: not et-opt --no-verify -p "decompose{preserve=linaer}" %s 2>&1 | filecheck %s

// A result type that the verifier was not asked about.

// CHECK: decompose{preserve}: unknown operator aten.linaer, did you mean 'linear'?

func.func @forward(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@below {{its result is of tensor<5xf32>, but what it decomposes into gives tensor<4xf32>}}
  %1 = aten.mish %x : (tensor<4xf32>) -> tensor<5xf32>
  func.return %1 : tensor<5xf32>
}
