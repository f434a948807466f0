// RUN: et-opt -p aten-to-edge --verify-diagnostics %s

func.func @forward(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  // expected-error@below {{is a view, which has no edge operator}}
  %0 = aten.view %x {size = [4]} : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = aten.relu %0 : tensor<4xf32>
  // expected-error@below {{the edge level has no operator special_digamma}}
  %2 = aten.special_digamma %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
