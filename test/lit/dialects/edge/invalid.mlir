// RUN: et-opt --split-input-file --verify-diagnostics %s

// The rules of schemas hold for edge ops as for those of aten; the rules of the level are those of verify-edge.

func.func @operand_c3(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{[operand_c3] sizes 3 and 4 do not broadcast}}
  %0 = edge.add.Tensor %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @property_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[property_c1] missing property 'dim' of schema type int}}
  %0 = edge._softmax %x {half_to_float = false} : tensor<4xf32>
  func.return
}

// -----

func.func @result_c2(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{[result_c2] result types are tensor<2x3xf32>, expected tensor<3x2xf32> for these operands}}
  %0 = edge.permute_copy %x {dims = [1, 0]} : tensor<2x3xf32>
  func.return
}

// -----

// expected-error@+1 {{[dim_order_c1] [0, 0, 1] is not a permutation of 3 dimensions}}
func.func private @dim_order_c1(tensor<1x2x3xf32, #edge.dim_order<0, 0, 1>>)

// -----

// expected-error@+1 {{[dim_order_c2] the contiguous order is the default: drop the encoding}}
func.func private @dim_order_c2(tensor<1x2x3xf32, #edge.dim_order<0, 1, 2>>)

// -----

func.func @dim_order_c3(%x: tensor<2x3xf32, #edge.dim_order<1, 2, 0>>) {
  // expected-error@+1 {{[dim_order_c3] the dim order of tensor<2x3xf32, #edge.dim_order<1, 2, 0>> does not match its rank}}
  %0 = edge.relu %x : (tensor<2x3xf32, #edge.dim_order<1, 2, 0>>) -> tensor<2x3xf32>
  func.return
}
