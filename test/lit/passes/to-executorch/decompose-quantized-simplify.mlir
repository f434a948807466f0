// RUN: et-opt -p 'decompose-quantized{simplify=true}' --split-input-file %s | filecheck %s

// Arithmetic that two operators have in common is computed once, and what nothing needs is not computed.
// CHECK-LABEL: func.func @quantize
// CHECK-NEXT:    edge.mul.Scalar %x {other = 2.0}
// CHECK-NEXT:    edge.round
// CHECK-NEXT:    %[[A:.*]] = edge.add.Scalar %{{.*}} {other = 3}
// CHECK-NEXT:    edge.clamp %[[A]] {min = -128, max = 127}
// CHECK-NEXT:    %[[R:.*]] = edge.dim_order_ops._to_dim_order_copy
// CHECK-NEXT:    func.return %[[R]], %[[R]]
func.func @quantize(%x: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xi8>) {
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %1 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %2 = edge.exp %x : tensor<4xf32>
  func.return %0, %1 : tensor<4xi8>, tensor<4xi8>
}

// -----

// A program without quantized operators stays as it is.
// CHECK-LABEL: func.func @floats
// CHECK-NEXT:    %dead = edge.exp %x
// CHECK-NEXT:    func.return %x
func.func @floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %dead = edge.exp %x : tensor<4xf32>
  func.return %x : tensor<4xf32>
}
