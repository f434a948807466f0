// RUN: et-opt -p add-model-schema --split-input-file --verify-diagnostics %s

// expected-error@+3 {{schema_c1}}
// expected-error@+2 {{schema_c2}}
// expected-error@+1 {{schema_c2}}
func.func @forward(%x: tensor<4xf16>, %y: tensor<0xf32>) -> tensor<0xf32> {
  func.return %y : tensor<0xf32>
}

// -----

// expected-error@+1 {{schema_c2}}
func.func @forward(%x: tensor<?xf32>) -> tensor<4xf32> {
  %0 = "test.op"(%x) : (tensor<?xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{schema_c3}}
func.func @get_model_schema(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
