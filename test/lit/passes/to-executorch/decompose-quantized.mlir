// RUN: et-opt -p decompose-quantized --split-input-file %s | filecheck %s
// RUN: et-opt -p 'decompose-quantized{target="%stock-quantized"}' --split-input-file %s | filecheck %s --check-prefix=STOCK
// RUN: et-opt -p 'decompose-quantized{target="et-vm"}' --split-input-file %s | filecheck %s --check-prefix=VM

// The scale is inverted at compile time.
// CHECK-LABEL: func.func @quantize
// STOCK-LABEL: func.func @quantize
// VM-LABEL: func.func @quantize
func.func @quantize(%x: tensor<4xf32>) -> tensor<4xi8> {
  // CHECK-NEXT: %[[S:.*]] = edge.mul.Scalar %x {other = 2.0} : tensor<4xf32>
  // CHECK-NEXT: %[[R:.*]] = edge.round %[[S]] : tensor<4xf32>
  // CHECK-NEXT: %[[M:.*]] = edge.add.Scalar %[[R]] {other = 3} : tensor<4xf32>
  // CHECK-NEXT: %[[C:.*]] = edge.clamp %[[M]] {min = -128, max = 127} : tensor<4xf32>
  // CHECK-NEXT: edge.dim_order_ops._to_dim_order_copy %[[C]] {dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  // STOCK-NEXT: edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5
  // VM-NEXT: edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

// A kernel of stock's that would end the process is not called: bf16.
// STOCK-LABEL: func.func @refused
// VM-LABEL: func.func @refused
func.func @refused(%x: tensor<4xbf16>) -> tensor<4xi8> {
  // STOCK-NEXT: edge.dim_order_ops._to_dim_order_copy %x {dtype = f32}
  // STOCK-NEXT: edge.mul.Scalar
  // VM-NEXT: edge.quantized_decomposed.quantize_per_tensor %x
  %0 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xbf16>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%x: tensor<?x4xui8>) -> tensor<?x4xf16> {
  // CHECK-NEXT: %[[W:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = f16} : (tensor<?x4xui8>) -> tensor<?x4xf16>
  // CHECK-NEXT: %[[S:.*]] = edge.sub.Scalar %[[W]] {other = 128} : tensor<?x4xf16>
  // CHECK-NEXT: edge.mul.Scalar %[[S]] {other = 0.5} : tensor<?x4xf16>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 128, quant_min = 0, quant_max = 255, dtype = ui8, out_dtype = f16} : (tensor<?x4xui8>) -> tensor<?x4xf16>
  func.return %0 : tensor<?x4xf16>
}

// -----

// The scale of a tensor of one element is inverted in double precision.
// CHECK-LABEL: func.func @by_tensor
func.func @by_tensor(%x: tensor<4xf32>, %s: tensor<1xf64>, %z: tensor<1xi64>) -> tensor<4xi8> {
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %s {size = []} : (tensor<1xf64>) -> tensor<f64>
  // CHECK-NEXT: %[[I:.*]] = edge.reciprocal %[[V]] : tensor<f64>
  // CHECK-NEXT: %[[N:.*]] = edge.dim_order_ops._to_dim_order_copy %[[I]] {dtype = f32}
  // CHECK-NEXT: edge.mul.Tensor %x, %[[N]]
  // CHECK-NEXT: edge.round
  // CHECK: edge.add.Tensor
  // CHECK-NEXT: edge.clamp
  %0 = edge.quantized_decomposed.quantize_per_tensor.tensor %x, %s, %z {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

// Integers are subtracted as integers; scales and zero points lie along the axis.
// CHECK-LABEL: func.func @channels
// STOCK-LABEL: func.func @channels
func.func @channels(%x: tensor<2x3x4xi8>, %s: tensor<3xf32>, %z: tensor<3xi64>) -> tensor<2x3x4xf32> {
  // CHECK-DAG: %[[S:.*]] = edge.view_copy %s {size = [1, 3, 1]}
  // CHECK-DAG: %[[Z:.*]] = edge.view_copy %z {size = [1, 3, 1]}
  // CHECK-DAG: %[[W:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = i64}
  // CHECK: %[[D:.*]] = edge.sub.Tensor %[[W]], %[[Z]]
  // CHECK-NEXT: %[[F:.*]] = edge.dim_order_ops._to_dim_order_copy %[[D]] {dtype = f32}
  // CHECK-NEXT: edge.mul.Tensor %[[F]], %[[S]]
  // STOCK-NEXT: edge.quantized_decomposed.dequantize_per_channel %x, %s, %z
  %0 = edge.quantized_decomposed.dequantize_per_channel %x, %s, %z {axis = 1, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x4xi8>, tensor<3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<2x8xf32>, %s: tensor<2x2xf32>, %z: tensor<2x2xi64>) -> tensor<2x8xi8> {
  // CHECK: edge.view_copy %s {size = [4, 1]}
  // CHECK-NEXT: edge.view_copy %z {size = [4, 1]}
  // CHECK-NEXT: edge.view_copy %x {size = [4, 4]}
  // CHECK: edge.round
  // CHECK: edge.view_copy %{{.*}} {size = [2, 8]} : (tensor<4x4xi8>) -> tensor<2x8xi8>
  %0 = edge.quantized_decomposed.quantize_per_channel_group %x, %s, %z {quant_min = -8, quant_max = 7, dtype = i8, group_size = 4} : (tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<2x8xi8>
  func.return %0 : tensor<2x8xi8>
}

// -----

// CHECK-LABEL: func.func @choose
func.func @choose(%x: tensor<?x8xf32>) -> (tensor<1xf64>, tensor<1xi64>) {
  // CHECK-NEXT: edge.amin %x
  // CHECK-NEXT: edge.amax %x
  // CHECK-NEXT: edge.clamp %{{.*}} {max = 0} : tensor<f32>
  // CHECK-NEXT: edge.clamp %{{.*}} {min = 0} : tensor<f32>
  // CHECK: edge.div.Tensor
  // CHECK: edge.rsub.Scalar %{{.*}} {other = -128} : tensor<i32>
  %0, %1 = edge.quantized_decomposed.choose_qparams.tensor %x {quant_min = -128, quant_max = 127, eps = 1.0e-5, dtype = i8} : (tensor<?x8xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  func.return %0, %1 : tensor<1xf64>, tensor<1xi64>
}

// -----

// Two numbers of a byte, the high half first.
// CHECK-LABEL: func.func @embedding
func.func @embedding(%w: tensor<5x4xui8>, %s: tensor<5x2xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x8xf32> {
  // CHECK-NEXT: %[[I:.*]] = edge.view_copy %i {size = [6]}
  // CHECK-NEXT: %[[R:.*]] = edge.index_select %w, %[[I]] {dim = 0}
  // CHECK-NEXT: edge.bitwise_right_shift.Tensor_Scalar %[[R]] {other = 4}
  // CHECK-NEXT: edge.bitwise_and.Scalar %{{.*}} {other = 15}
  // CHECK-NEXT: edge.bitwise_and.Scalar %[[R]] {other = 15}
  // CHECK-NEXT: edge.stack
  // CHECK: edge.sub.Scalar %{{.*}} {other = 8}
  // CHECK: edge.view_copy %{{.*}} {size = [2, 3, 8]}
  %0 = edge.quantized_decomposed.embedding_4bit %w, %s, none, %i {weight_quant_min = -8, weight_quant_max = 7} : (tensor<5x4xui8>, tensor<5x2xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  func.return %0 : tensor<2x3x8xf32>
}

// -----

// Not taken apart: the number of groups is not known.
// CHECK-LABEL: func.func @unknown
func.func @unknown(%x: tensor<2x?xi8>, %s: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // CHECK-NEXT: edge.quantized_decomposed.dequantize_per_channel_group
  %0 = edge.quantized_decomposed.dequantize_per_channel_group %x, %s, none {quant_min = -8, quant_max = 7, dtype = i8, group_size = 4, output_dtype = f32} : (tensor<2x?xi8>, tensor<2x?xf32>) -> tensor<2x?xf32>
  func.return %0 : tensor<2x?xf32>
}

// -----

// Stock has the kernel of one of two operators that compute the same, but for other numbers than torch's.
// STOCK-LABEL: func.func @same
// VM-LABEL: func.func @same
func.func @same(%x: tensor<2x8xf32>) -> (tensor<2x1xf64>, tensor<2x1xi64>) {
  // STOCK-NEXT: edge.amin
  // VM-NEXT: edge.quantized_decomposed._choose_qparams_per_token_asymmetric_impl
  %0, %1 = edge.quantized_decomposed._choose_qparams_per_token_asymmetric_impl %x {dtype = i8} : (tensor<2x8xf32>) -> (tensor<2x1xf64>, tensor<2x1xi64>)
  func.return %0, %1 : tensor<2x1xf64>, tensor<2x1xi64>
}
