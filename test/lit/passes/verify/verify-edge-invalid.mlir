// RUN: et-opt -p verify-edge --no-verify --split-input-file --verify-diagnostics %s
// RUN: not et-opt -p verify-edge --no-verify --split-input-file %s 2>&1 | filecheck %s

func.func @forward(%x: tensor<4xf32>, %y: tensor<4xi64>, %n: i64) -> tensor<4xf32> {
  // expected-error@below {{[edge_c1] belongs to the dialect 'aten', not to the edge level}}
  %0 = aten.relu %x : tensor<4xf32>
  // expected-error@below {{[edge_c2] operand 1 is a number of type i64, expected a tensor}}
  %1 = edge.mul.Tensor %x, %n : (tensor<4xf32>, i64) -> tensor<4xf32>
  // expected-error@below {{[edge_c3] 'self', 'other' mix element types: f32, i64}}
  %2 = edge.mul.Tensor %x, %y : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  // expected-error@below {{[edge_c3] 'tensors' mix element types: f32, i64}}
  %3 = edge.cat [%x, %y] : (tensor<4xf32>, tensor<4xi64>) -> tensor<8xf32>
  // expected-error@below {{[edge_c4] 'self' cannot be i64, expected f16, bf16, f32, f64}}
  %4 = edge.gelu %y : tensor<4xi64>
  // expected-error@below {{[edge_c4] 'index' cannot be f32, expected i32, i64}}
  %5 = edge.gather %x, %x {dim = 0} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK: [edge_c1]
// CHECK: fix: it was not lowered: run the aten-to-edge pipeline
// CHECK: [edge_c2]
// CHECK: fix: run scalars-to-tensors before aten-to-edge
// CHECK: [edge_c3]
// CHECK: fix: use one type, in PyTorch with x.to(dtype) or module.to(dtype); where eager PyTorch converts by itself, run promote-types before aten-to-edge
// CHECK: [edge_c4]
// CHECK: fix: convert the operand, in PyTorch with x.to(dtype), in text with dim_order_ops._to_dim_order_copy

// -----

func.func @forward(%x: tensor<1x2x3x4xf32>, %y: tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) {
  // expected-error@below {{[edge_c5] tensors must share the dim order [0, 2, 3, 1] here}}
  %0 = edge.add.Tensor %y, %x : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  // expected-error@below {{[edge_c5] takes and returns contiguous tensors here}}
  %1 = edge.view_copy %y {size = [24]} : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<24xf32>
  // expected-error@below {{[edge_c5] 'dim_order' is [0, 2, 3, 1], but the result is tensor<1x2x3x4xf32>}}
  %2 = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 2, 3, 1]} : tensor<1x2x3x4xf32>
  // expected-error@below {{[edge_c6] has the literal memory_format = "channels_last"}}
  %3 = edge.clone %x {memory_format = "channels_last"} : tensor<1x2x3x4xf32>
  // expected-error@below {{[edge_c7] result has type}}
  %4 = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 1, 3, 2]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 1, 3, 2>>
  // expected-error@below {{[edge_c8] has the literal device = "cuda:0"}}
  %5 = edge.ones {size = [4], device = "cuda:0"} : () -> tensor<4xf32>
  func.return
}
