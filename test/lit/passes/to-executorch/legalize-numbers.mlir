// RUN: et-opt -p legalize --split-input-file %s | filecheck %s

// A float added to integers, which stock's kernel refuses; the slope of 16-bit floats, which it rounds.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%n: tensor<4xi64>, %h: tensor<4xbf16>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>) {
  // CHECK-NEXT: %[[N:.*]] = edge.dim_order_ops._to_dim_order_copy %n {dtype = f32}
  // CHECK-NEXT: edge.add.Scalar %[[N]] {other = 2.5}
  %0 = edge.add.Scalar %n {other = 2.5} : (tensor<4xi64>) -> tensor<4xf32>
  // CHECK-NEXT: %[[W:.*]] = edge.dim_order_ops._to_dim_order_copy %h {dtype = f32}
  // CHECK-NEXT: %[[L:.*]] = edge.leaky_relu %[[W]] {negative_slope = 0.3}
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %[[L]] {dtype = bf16}
  %1 = edge.leaky_relu %h {negative_slope = 0.3} : tensor<4xbf16>
  // CHECK-NEXT: edge.leaky_relu %x
  %2 = edge.leaky_relu %x {negative_slope = 0.3} : tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>
}
