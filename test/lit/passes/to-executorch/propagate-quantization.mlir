// RUN: et-opt -p propagate-quantization --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @view
func.func @view(%x: tensor<2x4xi8>) -> tensor<8xi8> {
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %x {size = [8]} : (tensor<2x4xi8>) -> tensor<8xi8>
  // CHECK-NEXT: func.return %[[V]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.view_copy %0 {size = [8]} : (tensor<2x4xf32>) -> tensor<8xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<8xf32>) -> tensor<8xi8>
  func.return %2 : tensor<8xi8>
}

// -----

// The quantizations differ: what is left is a requantization.
// CHECK-LABEL: func.func @requantized
func.func @requantized(%x: tensor<2x4xi8>) -> tensor<4x2xi8> {
  // CHECK-NEXT: %[[P:.*]] = edge.permute_copy %x {dims = [1, 0]} : (tensor<2x4xi8>) -> tensor<4x2xi8>
  // CHECK-NEXT: %[[R:.*]] = edge.quantized_decomposed.dequantize_per_tensor %[[P]] {scale = 0.5, zero_point = 3
  // CHECK-NEXT: edge.quantized_decomposed.quantize_per_tensor %[[R]] {scale = 0.25, zero_point = 3
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.permute_copy %0 {dims = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x2xf32>) -> tensor<4x2xi8>
  func.return %2 : tensor<4x2xi8>
}

// -----

// CHECK-LABEL: func.func @hoist
func.func @hoist(%x: tensor<2x4xf32>) -> tensor<2x6xi8> {
  // CHECK-NEXT: %[[S:.*]] = edge.sin %x
  // CHECK-NEXT: %[[Q:.*]] = edge.quantized_decomposed.quantize_per_tensor %[[S]] {scale = 0.5, zero_point = 3
  // CHECK-SAME: (tensor<2x4xf32>) -> tensor<2x4xi8>
  // CHECK-NEXT: edge.constant_pad_nd %[[Q]] {pad = [1, 1], value = 5} : (tensor<2x4xi8>) -> tensor<2x6xi8>
  %0 = edge.sin %x : tensor<2x4xf32>
  %1 = edge.constant_pad_nd %0 {pad = [1, 1], value = 1.0} : (tensor<2x4xf32>) -> tensor<2x6xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x6xf32>) -> tensor<2x6xi8>
  func.return %2 : tensor<2x6xi8>
}

// -----

// CHECK-LABEL: func.func @concatenation
func.func @concatenation(%x: tensor<2x4xi8>, %y: tensor<2x3xi8>) -> tensor<2x7xf32> {
  // CHECK-NEXT: %[[C:.*]] = edge.cat [%x, %y] {dim = 1} : (tensor<2x4xi8>, tensor<2x3xi8>) -> tensor<2x7xi8>
  // CHECK-NEXT: edge.quantized_decomposed.dequantize_per_tensor %[[C]] {scale = 0.5
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_tensor %y {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.cat [%0, %1] {dim = 1} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  func.return %2 : tensor<2x7xf32>
}

// -----

// Each part is quantized for itself: one only moves.
// CHECK-LABEL: func.func @split
func.func @split(%x: tensor<2x4xi8>) -> (tensor<2x1xi8>, tensor<2x3xf32>) {
  // CHECK-NEXT: %[[A:.*]], %[[B:.*]] = edge.split_with_sizes_copy %x {split_sizes = [1, 3], dim = 1} : (tensor<2x4xi8>) -> (tensor<2x1xi8>, tensor<2x3xi8>)
  // CHECK-NEXT: %[[R:.*]] = edge.quantized_decomposed.dequantize_per_tensor %[[B]] {scale = 0.5
  // CHECK-NEXT: func.return %[[A]], %[[R]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1, %2 = edge.split_with_sizes_copy %0 {split_sizes = [1, 3], dim = 1} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>)
  %3 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x1xf32>) -> tensor<2x1xi8>
  func.return %3, %2 : tensor<2x1xi8>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @quantized_concatenation
func.func @quantized_concatenation(%x: tensor<2x4xi8>, %y: tensor<2x3xf32>) -> tensor<2x7xi8> {
  // CHECK-NEXT: %[[S:.*]] = edge.sin %y
  // CHECK-NEXT: %[[Q:.*]] = edge.quantized_decomposed.quantize_per_tensor %[[S]] {scale = 0.5
  // CHECK-NEXT: edge.cat [%x, %[[Q]]] {dim = 1} : (tensor<2x4xi8>, tensor<2x3xi8>) -> tensor<2x7xi8>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.sin %y : tensor<2x3xf32>
  %2 = edge.cat [%0, %1] {dim = 1} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  %3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x7xf32>) -> tensor<2x7xi8>
  func.return %3 : tensor<2x7xi8>
}

// -----

// CHECK-LABEL: func.func @pool
func.func @pool(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x2x2xi8> {
  // CHECK-NEXT: %[[P:.*]], %{{.*}} = edge.max_pool2d_with_indices %x
  // CHECK-SAME: (tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2x2x2xi64>)
  // CHECK-NEXT: func.return %[[P]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1, %2 = edge.max_pool2d_with_indices %0 {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  %3 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  func.return %3 : tensor<1x2x2x2xi8>
}

// -----

// CHECK-LABEL: func.func @clamp
func.func @clamp(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  // CHECK-NEXT: edge.clamp %x {min = 3, max = 127} : tensor<4xi8>
  // CHECK-NEXT: edge.clamp %x {min = 3, max = 15} : tensor<4xi8>
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.relu %0 : tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %3 = edge.hardtanh %0 {min_val = 0.0, max_val = 6.0} : tensor<4xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2, %4 : tensor<4xi8>, tensor<4xi8>
}

// -----

// An input may have integers beyond the limits.
// CHECK-LABEL: func.func @limits
func.func @limits(%x: tensor<4xi8>, %y: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xi8>) {
  // CHECK-NEXT: %[[D:.*]] = edge.quantized_decomposed.dequantize_per_tensor %x
  // CHECK-NEXT: %[[Q:.*]] = edge.quantized_decomposed.quantize_per_tensor %[[D]]
  // CHECK-NEXT: %[[Y:.*]] = edge.quantized_decomposed.quantize_per_tensor %y
  // CHECK-NEXT: func.return %[[Q]], %[[Y]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.quantized_decomposed.quantize_per_tensor %0 {scale = 0.5, zero_point = 3, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %2 = edge.quantized_decomposed.quantize_per_tensor %y {scale = 0.5, zero_point = 3, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %3 = edge.quantized_decomposed.dequantize_per_tensor %2 {scale = 0.5, zero_point = 3, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %4 = edge.quantized_decomposed.quantize_per_tensor %3 {scale = 0.5, zero_point = 3, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %1, %4 : tensor<4xi8>, tensor<4xi8>
}

// -----

// CHECK-LABEL: func.func @size
func.func @size(%x: tensor<?x4xi8>) -> (tensor<?xi8>, i64) {
  // CHECK-NEXT: %[[N:.*]] = edge.sym_size.int %x {dim = 0}
  // CHECK-NEXT: %[[V:.*]] = edge.view_copy %x
  // CHECK-NEXT: func.return %[[V]], %[[N]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?x4xi8>) -> tensor<?x4xf32>
  %n = edge.sym_size.int %0 {dim = 0} : (tensor<?x4xf32>) -> i64
  %1 = edge.view_copy %0 {size = [-1]} : (tensor<?x4xf32>) -> tensor<?xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<?xf32>) -> tensor<?xi8>
  func.return %2, %n : tensor<?xi8>, i64
}

// -----

// Nothing moves: a sum needs the numbers too, more elements would be restored, and the scale of a channel has an axis.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4x1xi8>, %s: tensor<4xf32>, %z: tensor<4xi64>) -> (tensor<4xf32>, tensor<4x1xf32>, tensor<4x3xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[D:.*]] = edge.quantized_decomposed.dequantize_per_tensor %x
  // CHECK-NEXT: edge.view_copy %[[D]] {size = [4]} : (tensor<4x1xf32>) -> tensor<4xf32>
  // CHECK-NEXT: edge.sin %[[D]]
  // CHECK-NEXT: edge.expand_copy %[[D]]
  // CHECK-NEXT: %[[C:.*]] = edge.quantized_decomposed.dequantize_per_channel %x
  // CHECK-NEXT: edge.view_copy %[[C]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x1xi8>) -> tensor<4x1xf32>
  %1 = edge.view_copy %0 {size = [4]} : (tensor<4x1xf32>) -> tensor<4xf32>
  %2 = edge.sin %0 : tensor<4x1xf32>
  %3 = edge.expand_copy %0 {size = [4, 3]} : (tensor<4x1xf32>) -> tensor<4x3xf32>
  %4 = edge.quantized_decomposed.dequantize_per_channel %x, %s, %z {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x1xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  %5 = edge.view_copy %4 {size = [4]} : (tensor<4x1xf32>) -> tensor<4xf32>
  func.return %1, %2, %3, %5 : tensor<4xf32>, tensor<4x1xf32>, tensor<4x3xf32>, tensor<4xf32>
}

// -----

// A pad between equal quantizations is one of integers.
// CHECK-LABEL: func.func @pad_of_equal_scales
func.func @pad_of_equal_scales(%x: tensor<2x4xi8>) -> tensor<2x5xi8> {
  // CHECK-NEXT: %[[PAD:.*]] = edge.constant_pad_nd %x {pad = [0, 1], value = 3} : (tensor<2x4xi8>) -> tensor<2x5xi8>
  // CHECK-NEXT: func.return %[[PAD]]
  %0 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.constant_pad_nd %0 {pad = [0, 1], value = 0.0} : (tensor<2x4xf32>) -> tensor<2x5xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor %1 {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x5xf32>) -> tensor<2x5xi8>
  func.return %2 : tensor<2x5xi8>
}
