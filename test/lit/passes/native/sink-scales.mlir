// RUN: et-opt -p sink-scales --split-input-file %s | filecheck %s

// Matrices of bytes are dequantized next to the product that reads them, transposed or not.
// CHECK-LABEL: func.func @keys
// CHECK-NEXT:    %0 = edge.permute_copy %k {dims = [0, 1, 3, 2]} : (tensor<1x2x64x8xi8>) -> tensor<1x2x8x64xi8>
// CHECK-NEXT:    %1 = edge.permute_copy %s {dims = [0, 1, 3, 2]} : (tensor<1x2x64x1xf32>) -> tensor<1x2x1x64xf32>
// CHECK-NEXT:    %2 = edge.view_copy %0 {size = [2, 8, 64]} : (tensor<1x2x8x64xi8>) -> tensor<2x8x64xi8>
// CHECK-NEXT:    %3 = edge.view_copy %1 {size = [2, 1, 64]} : (tensor<1x2x1x64xf32>) -> tensor<2x1x64xf32>
// CHECK-NEXT:    %4 = edge.dim_order_ops._to_dim_order_copy %2 {dtype = f32} : (tensor<2x8x64xi8>) -> tensor<2x8x64xf32>
// CHECK-NEXT:    %5 = edge.mul.Tensor %4, %3 : (tensor<2x8x64xf32>, tensor<2x1x64xf32>) -> tensor<2x8x64xf32>
// CHECK-NEXT:    %6 = edge.bmm %q, %5
// CHECK-NEXT:    func.return %6
func.func @keys(%q: tensor<2x1x8xf32>, %k: tensor<1x2x64x8xi8>, %s: tensor<1x2x64x1xf32>) -> tensor<2x1x64xf32> {
  %0 = edge.dim_order_ops._to_dim_order_copy %k {dtype = f32} : (tensor<1x2x64x8xi8>) -> tensor<1x2x64x8xf32>
  %1 = edge.mul.Tensor %0, %s : (tensor<1x2x64x8xf32>, tensor<1x2x64x1xf32>) -> tensor<1x2x64x8xf32>
  %2 = edge.permute_copy %1 {dims = [0, 1, 3, 2]} : (tensor<1x2x64x8xf32>) -> tensor<1x2x8x64xf32>
  %3 = edge.view_copy %2 {size = [2, 8, 64]} : (tensor<1x2x8x64xf32>) -> tensor<2x8x64xf32>
  %4 = edge.bmm %q, %3 : (tensor<2x1x8xf32>, tensor<2x8x64xf32>) -> tensor<2x1x64xf32>
  func.return %4 : tensor<2x1x64xf32>
}

// -----

// However many rows are multiplied.
// CHECK-LABEL: func.func @many
// CHECK-NEXT:    %0 = edge.view_copy %v {size = [2, 64, 8]} : (tensor<1x2x64x8xi8>) -> tensor<2x64x8xi8>
// CHECK-NEXT:    %1 = edge.view_copy %s {size = [2, 64, 1]} : (tensor<1x2x64x1xf32>) -> tensor<2x64x1xf32>
// CHECK-NEXT:    %2 = edge.dim_order_ops._to_dim_order_copy %0
// CHECK-NEXT:    %3 = edge.mul.Tensor %2, %1
// CHECK-NEXT:    edge.bmm %q, %3
func.func @many(%q: tensor<2x?x64xf32, #program.sizes<s0>>, %v: tensor<1x2x64x8xi8>, %s: tensor<1x2x64x1xf32>) -> tensor<2x?x8xf32, #program.sizes<s0>> {
  %0 = edge.dim_order_ops._to_dim_order_copy %v {dtype = f32} : (tensor<1x2x64x8xi8>) -> tensor<1x2x64x8xf32>
  %1 = edge.mul.Tensor %0, %s : (tensor<1x2x64x8xf32>, tensor<1x2x64x1xf32>) -> tensor<1x2x64x8xf32>
  %2 = edge.view_copy %1 {size = [2, 64, 8]} : (tensor<1x2x64x8xf32>) -> tensor<2x64x8xf32>
  %3 = edge.bmm %q, %2 : (tensor<2x?x64xf32, #program.sizes<s0>>, tensor<2x64x8xf32>) -> tensor<2x?x8xf32, #program.sizes<s0>>
  func.return %3 : tensor<2x?x8xf32, #program.sizes<s0>>
}

// -----

// Not where floats are read by something else, or with one scale for all.
// CHECK-LABEL: func.func @read_twice
// CHECK-NEXT:    edge.dim_order_ops._to_dim_order_copy
// CHECK-NEXT:    edge.mul.Tensor
// CHECK-NEXT:    edge.view_copy
// CHECK-NEXT:    edge.bmm
func.func @read_twice(%q: tensor<2x1x64xf32>, %v: tensor<1x2x64x8xi8>, %s: tensor<1x2x64x1xf32>) -> (tensor<2x1x8xf32>, tensor<1x2x64x8xf32>) {
  %0 = edge.dim_order_ops._to_dim_order_copy %v {dtype = f32} : (tensor<1x2x64x8xi8>) -> tensor<1x2x64x8xf32>
  %1 = edge.mul.Tensor %0, %s : (tensor<1x2x64x8xf32>, tensor<1x2x64x1xf32>) -> tensor<1x2x64x8xf32>
  %2 = edge.view_copy %1 {size = [2, 64, 8]} : (tensor<1x2x64x8xf32>) -> tensor<2x64x8xf32>
  %3 = edge.bmm %q, %2 : (tensor<2x1x64xf32>, tensor<2x64x8xf32>) -> tensor<2x1x8xf32>
  func.return %3, %1 : tensor<2x1x8xf32>, tensor<1x2x64x8xf32>
}

// CHECK-LABEL: func.func @one_scale
// CHECK-NEXT:    edge.dim_order_ops._to_dim_order_copy
// CHECK-NEXT:    edge.mul.Tensor
// CHECK-NEXT:    edge.view_copy
// CHECK-NEXT:    edge.bmm
func.func @one_scale(%q: tensor<2x1x64xf32>, %v: tensor<1x2x64x8xi8>, %s: tensor<f32>) -> tensor<2x1x8xf32> {
  %0 = edge.dim_order_ops._to_dim_order_copy %v {dtype = f32} : (tensor<1x2x64x8xi8>) -> tensor<1x2x64x8xf32>
  %1 = edge.mul.Tensor %0, %s : (tensor<1x2x64x8xf32>, tensor<f32>) -> tensor<1x2x64x8xf32>
  %2 = edge.view_copy %1 {size = [2, 64, 8]} : (tensor<1x2x64x8xf32>) -> tensor<2x64x8xf32>
  %3 = edge.bmm %q, %2 : (tensor<2x1x64xf32>, tensor<2x64x8xf32>) -> tensor<2x1x8xf32>
  func.return %3 : tensor<2x1x8xf32>
}
