// RUN: et-opt --split-input-file --verify-diagnostics %s

func.func @operand_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[operand_c1] schema 'add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor' does not fit 1 operands}}
  %0 = "aten.add.Tensor"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @operand_c1_segments(%x: tensor<4xf32>) {
  // expected-error@+1 {{[operand_c1] needs the property 'operandSegmentSizes'}}
  %0 = "aten.cat"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

func.func @operand_c1_missing(%x: tensor<4xf32>) {
  // expected-error@+1 {{[operand_c1] argument 'weight' takes one tensor, got 2}}
  %0 = "aten.layer_norm"(%x, %x, %x) <{normalized_shape = array<i64: 4>, operandSegmentSizes = array<i32: 1, 2, 0, 0>}> : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @operand_c1_holes(%x: tensor<4xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{[operand_c1] list 'indices' needs the property 'indices_present'}}
  %0 = "aten.index.Tensor"(%x, %i) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}

// -----

func.func @operand_c1_holes_count(%x: tensor<4xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{[operand_c1] list 'indices' has 1 tensors, but 'indices_present' states 2}}
  %0 = "aten.index.Tensor"(%x, %i) <{operandSegmentSizes = array<i32: 1, 1, 0>, indices_present = array<i1: true, true>}> : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}

// -----

func.func @operand_c2(%x: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{[operand_c2] operand 1 has type index, expected a tensor or a number}}
  %0 = aten.add.Tensor %x, %i : (tensor<4xf32>, index) -> tensor<4xf32>
  func.return
}

// -----

func.func @operand_c2_element(%x: tensor<4xi7>) {
  // expected-error@+1 {{[operand_c2] operand 0 has type tensor<4xi7>, expected a tensor or a number}}
  %0 = aten.relu %x : tensor<4xi7>
  func.return
}

// -----

func.func @operand_c2_symbol(%x: tensor<?xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{[operand_c2] symbol 0 has type tensor<i64>, expected a number}}
  %0 = aten.view %x {size = [%s]} : (tensor<?xf32>, tensor<i64>) -> tensor<?xf32>
  func.return
}

// -----

func.func @operand_c3(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{[operand_c3] sizes 3 and 4 do not broadcast}}
  %0 = aten.add.Tensor %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @property_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[property_c1] missing property 'dim' of schema type int}}
  %0 = aten.softmax.int %x : tensor<4xf32>
  func.return
}

// -----

func.func @property_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{[property_c2] 'dim' is "last", expected schema type int}}
  %0 = "aten.softmax.int"(%x) <{dim = "last"}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @property_c2_width(%x: tensor<4xf32>) {
  // expected-error@+1 {{[property_c2] 'dim' is 0 : i32, expected schema type int}}
  %0 = "aten.softmax.int"(%x) <{dim = 0 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @property_c2_symbolic(%x: tensor<4xf32>, %n: i64) {
  // expected-error@+1 {{[property_c2] 'dim' of schema type int cannot be symbolic}}
  %0 = aten.softmax.int %x {dim = %n} : (tensor<4xf32>, i64) -> tensor<4xf32>
  func.return
}

// -----

func.func @property_c2_symbolic_list(%x: tensor<4xf32>, %n: i64) {
  // expected-error@+1 {{[property_c2] 'dims' of schema type int[] cannot be symbolic}}
  %0 = aten.permute %x {dims = [%n]} : (tensor<4xf32>, i64) -> tensor<4xf32>
  func.return
}

// -----

func.func @property_c3(%x: tensor<4xf32>) {
  // expected-error@+1 {{[property_c3] 'aten.relu' has no argument 'inplace'}}
  %0 = "aten.relu"(%x) <{inplace = true}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @symbol_c1(%x: tensor<4xf32>, %n: i64) {
  // expected-error@+1 {{[symbol_c1] 0 literals are DYNAMIC, but the op has 1 symbols}}
  %0 = "aten.view"(%x, %n) <{size = array<i64: 2, 2>}> : (tensor<4xf32>, i64) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @result_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[result_c1] expected 2 results, got 1}}
  %0 = aten.max.dim %x {dim = 0} : (tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @result_c2(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error@+1 {{[result_c2] result types are tensor<3x2xf32>, expected tensor<2x3xf32> for these operands}}
  %0 = aten.add.Tensor %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @result_c2_element(%x: tensor<4xi64>) {
  // expected-error@+1 {{[result_c2] result types are tensor<4xi64>, expected tensor<4xf32> for these operands}}
  %0 = aten.exp %x : tensor<4xi64>
  func.return
}

// -----

func.func @result_c2_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{[result_c2] result types are tensor<2xf32>, expected tensor<2xf32>, tensor<2xf32> for these operands}}
  %0 = aten.chunk %x {chunks = 2} : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @unknown_literal(%x: tensor<4xf32>) {
  // expected-error@+1 {{'axis' is not a literal argument of softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor}}
  %0 = aten.softmax.int %x {axis = 0} : tensor<4xf32>
  func.return
}

// -----

func.func @literal_twice(%x: tensor<4xf32>) {
  // expected-error@+1 {{'dim' is given twice}}
  %0 = aten.softmax.int %x {dim = 0, dim = 0} : tensor<4xf32>
  func.return
}

// -----

func.func @wrong_literal(%x: tensor<4xf32>) {
  // expected-error@+1 {{'dim' takes a literal of schema type int}}
  %0 = aten.softmax.int %x {dim = 0.5} : tensor<4xf32>
  func.return
}

// -----

func.func @no_literal(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a number, a boolean, a string, an element type, a list or an SSA value}}
  %0 = aten.softmax.int %x {dim = } : tensor<4xf32>
  func.return
}

// -----

func.func @missing_tensor(%x: tensor<4xf32>) {
  // expected-error@+1 {{aten.add.Tensor: expected the tensor argument 'other'}}
  %0 = aten.add.Tensor %x : tensor<4xf32>
  func.return
}

// -----

func.func @no_tensor() {
  // expected-error@+1 {{aten.relu: expected the tensor argument 'self'}}
  %0 = aten.relu : () -> tensor<4xf32>
  func.return
}
