// RUN: et-opt --split-input-file --verify-diagnostics %s

// expected-error@+2 {{Operation aten.no_such_op is not registered}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = aten.no_such_op %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{[dominance_c1] operand 0}}
  %1 = aten.relu %2 : tensor<4xf32>
  %2 = aten.relu %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
