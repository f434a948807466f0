// RUN: et-opt -p verify-core-aten --split-input-file --verify-diagnostics %s
// RUN: not et-opt -p verify-core-aten --split-input-file %s 2>&1 | filecheck %s

// Every op is reported. One that the edge level has can be kept.
func.func @forward(%x: tensor<8x4xf32>, %w: tensor<2x4xf32>) -> tensor<8x2xf32> {
  // expected-error@below {{[core_aten_c1] is not Core ATen}}
  %1 = aten.linear %x, %w : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
  // expected-error@below {{[core_aten_c1] is not Core ATen}}
  %2 = aten.special_digamma %1 : tensor<8x2xf32>
  func.return %2 : tensor<8x2xf32>
}
// CHECK: 'aten.linear': [core_aten_c1]
// CHECK: preserve=linear
// CHECK: 'aten.special_digamma': [core_aten_c1]
// CHECK: rewrite what remains with other operators

// -----

// The rules of the aten level hold as well.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{[aten_c1] belongs to the dialect 'edge'}}
  %1 = edge.relu %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// What can be done where data says how long a result is.
func.func @lengths(%x: tensor<3xf32>, %n: tensor<3xi64>) -> tensor<?xf32> {
  // expected-error@below {{[core_aten_c1] is not Core ATen}}
  %1 = aten.repeat_interleave.self_Tensor %x, %n : (tensor<3xf32>, tensor<3xi64>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
// CHECK: 'aten.repeat_interleave.self_Tensor': [core_aten_c1]
// CHECK: pass output_size=

// -----

// The reason why an operator has no decomposition.
func.func @sparse(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  // expected-error@below {{[core_aten_c1] is not Core ATen}}
  %1 = aten.to_sparse_csr %x : tensor<3x3xf32>
  func.return %1 : tensor<3x3xf32>
}
// CHECK: 'aten.to_sparse_csr': [core_aten_c1]
// CHECK: fix: torch's decomposition of it comes down to _to_sparse_csr, which Core ATen does not have: rewrite it with other operators
