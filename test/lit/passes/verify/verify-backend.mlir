// RUN: et-opt -p verify-backend --split-input-file --verify-diagnostics %s

// Passes: edge, with what a backend takes over.
backend.lowered @lowered_0 "demo" = #program.data<ui8, [1]>
backend.named_data "lowered_0" = #program.data<ui8, [1]>
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = backend.partition "demo"(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = edge.relu %a : tensor<4xf32>
    backend.yield %b : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}

// -----

func.func @backend_c1(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = backend.partition "demo"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error@+1 {{[backend_c1] belongs to the dialect 'aten', not to the backend level}}
    %b = aten.relu %a : tensor<4xf32>
    backend.yield %b : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}

// -----

backend.lowered @lowered_0 "demo" = #program.data<ui8, [1]>
func.func @backend_c2(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[backend_c2] no backend.lowered is named @lowered_1}}
  %0 = backend.call @lowered_1(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

backend.named_data "weights" = #program.data<ui8, [1]>
// expected-error@+1 {{[backend_c3] data named 'weights' exists already}}
backend.named_data "weights" = #program.data<ui8, [2]>

// -----

// The rules of the edge level hold inside of partitions.
func.func @edge_c7(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32, #edge.dim_order<3, 2, 1, 0>> {
  %1 = backend.partition "demo"(%x) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32, #edge.dim_order<3, 2, 1, 0>> {
  ^bb0(%a: tensor<1x2x2x2xf32>):
    // expected-error@+1 {{[edge_c7] result has type}}
    %b = edge.dim_order_ops._clone_dim_order %a {dim_order = [3, 2, 1, 0]} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32, #edge.dim_order<3, 2, 1, 0>>
    backend.yield %b : tensor<1x2x2x2xf32, #edge.dim_order<3, 2, 1, 0>>
  }
  func.return %1 : tensor<1x2x2x2xf32, #edge.dim_order<3, 2, 1, 0>>
}
