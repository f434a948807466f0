// RUN: et-opt --split-input-file --verify-diagnostics %s

func.func @partition_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[partition_c1] the body takes nothing, the inputs are tensor<4xf32>}}
  backend.partition "demo"(%x) : (tensor<4xf32>) -> () {
    backend.yield
  }
  func.return
}

// -----

func.func @partition_c2(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[partition_c2] the body yields nothing, the results are tensor<4xf32>}}
  %1 = backend.partition "demo"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    backend.yield
  }
  func.return %1 : tensor<4xf32>
}

// -----

func.func @partition_c3() {
  // expected-error@+1 {{[partition_c3] the backend has no name}}
  backend.partition ""() : () -> () {
    backend.yield
  }
  func.return
}

// -----

func.func @partition_c4(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[partition_c4] 'edge.relu' uses a value from outside}}
  %1 = backend.partition "demo"() : () -> tensor<4xf32> {
    // expected-error@+1 {{[dominance_c1] operand 0 %x, an argument of another block, does not dominate this use}}
    %b = edge.relu %x : tensor<4xf32>
    backend.yield %b : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}

// -----

// expected-error@+1 {{[lowered_c3] the identifier '1' stands for array<i64: 3, 4>, not for locations}}
backend.lowered @lowered_0 "demo" debug_handles {"1" = array<i64: 3, 4>} = #program.data<ui8, []>

// -----

// expected-error@+1 {{[lowered_c5] '1' has array<i64: 0, 2>, not an order of dimensions}}
backend.lowered @lowered_0 "demo" debug_handles {"1" = []} debug_orders {"1" = array<i64: 0, 2>} = #program.data<ui8, []>

// -----

// expected-error@+1 {{[lowered_c5] '1' has [0 : i64, 1 : i64], not an order of dimensions}}
backend.lowered @lowered_0 "demo" debug_handles {"1" = []} debug_orders {"1" = [0, 1]} = #program.data<ui8, []>

// -----

// expected-error@+1 {{[lowered_c5] '1' has an order, but stands for nothing}}
backend.lowered @lowered_0 "demo" debug_orders {"1" = array<i64: 1, 0>} = #program.data<ui8, []>

// -----

// expected-error@+1 {{[lowered_c1] the backend has no name}}
backend.lowered @lowered_0 "" = #program.data<ui8, [1]>

// -----

// expected-error@+1 {{[lowered_c4] [0, 1, 2] are no pairs of an output and an input}}
backend.lowered @lowered_0 "demo" updates array<i64: 0, 1, 2> = #program.data<ui8, [1]>

// -----

// expected-error@+1 {{[lowered_c4] [0, 1, 1, 1] are no pairs of an output and an input}}
backend.lowered @lowered_0 "demo" updates array<i64: 0, 1, 1, 1> = #program.data<ui8, [1]>

// -----

// expected-error@+1 {{[lowered_c2] an alignment of 24 bytes is not a power of two}}
backend.lowered @lowered_0 "demo" align 24 = #program.data<ui8, [1]>

// -----

// expected-error@+1 {{[named_data_c1] an alignment of 0 bytes is not a power of two}}
backend.named_data "weights" align 0 = #program.data<ui8, [1]>
