// RUN: et-opt --split-input-file --verify-diagnostics %s

func.func @tosa_c1(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{[tosa_c1] the attribute axis cannot be "rows"}}
  %0 = "tosa.reduce_sum"(%x) <{axis = "rows"}> : (tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return
}

// -----

func.func @tosa_c2(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{[tosa_c2] operands of ranks [1, 2]; one rank is required}}
  %0 = "tosa.add"(%x, %y) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @tosa_c2_result(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{[tosa_c2] the result is tensor<1x3xf32>, not tensor<2x1xf32>}}
  %0 = "tosa.reduce_sum"(%x) <{axis = 0 : i32}> : (tensor<2x3xf32>) -> tensor<2x1xf32>
  func.return
}

// -----

func.func @const_c1() {
  // expected-error@+1 {{[const_c1] the values are not those of tensor<3xf32>}}
  %0 = "tosa.const"() <{values = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}

// -----

func.func @shape_c1() {
  // expected-error@+1 {{[shape_c1] 2 numbers of !tosa.shape<3>}}
  %0 = "tosa.const_shape"() <{values = dense<[3, 2]> : tensor<2xindex>}> : () -> !tosa.shape<3>
  func.return
}
