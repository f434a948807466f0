// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf64>) {
  %0 = aten.softmax.int %x {dim = -1} : tensor<2x4xf32>
  %1 = aten.log_softmax.int %x {dim = 1, dtype = f64} : (tensor<2x4xf32>) -> tensor<2x4xf64>
  func.return %0, %1 : tensor<2x4xf32>, tensor<2x4xf64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SOFTMAX:.*]] = aten._softmax %x {dim = -1, half_to_float = false}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f64} : (tensor<2x4xf32>) -> tensor<2x4xf64>
// CHECK-NEXT: %[[LOG_SOFTMAX:.*]] = aten._log_softmax %[[TO_COPY]] {dim = 1, half_to_float = false}
// CHECK-NEXT: func.return %[[SOFTMAX]], %[[LOG_SOFTMAX]]

// -----

func.func @forward(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = aten.layer_norm %x, %w {normalized_shape = [4], eps = 1.0e-12} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NATIVE_LAYER_NORM:.*]], %{{.*}}, %{{.*}} = aten.native_layer_norm %x, %w {normalized_shape = [4], eps = 1.0e-12} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
// CHECK-NEXT: func.return %[[NATIVE_LAYER_NORM]]

// -----

// Batch normalization with running statistics.
func.func @forward(%x: tensor<2x3x4x4xf32>, %w: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3x4x4xf32> {
  %0 = aten.batch_norm %x, %w, %b, %m, %v {training = false, momentum = 0.1, eps = 1.0e-05, cudnn_enabled = true} : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  func.return %0 : tensor<2x3x4x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NATIVE_BATCH_NORM_LEGIT_NO_TRAINING:.*]], %{{.*}}, %{{.*}} = aten._native_batch_norm_legit_no_training %x, %w, %b, %m, %v {momentum = 0.1, eps = 1.0e-05} : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xf32>, tensor<0xf32>, tensor<0xf32>)
// CHECK-NEXT: func.return %[[NATIVE_BATCH_NORM_LEGIT_NO_TRAINING]]

// -----

// In training they are written, which a pattern cannot do.
func.func @forward(%x: tensor<2x3x4x4xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3x4x4xf32> {
  %0 = aten.batch_norm %x, none, none, %m, %v {training = true, momentum = 0.1, eps = 1.0e-05, cudnn_enabled = true} : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  func.return %0 : tensor<2x3x4x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BATCH_NORM:.*]] = aten.batch_norm %x, none, none, %m, %v {training = true, momentum = 0.1, eps = 1.0e-05, cudnn_enabled = true} : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT: func.return %[[BATCH_NORM]]

// -----

// In an instance normalization each channel is a group.
func.func @forward(%x: tensor<2x6x4x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) {
  %0 = aten.group_norm %x {num_groups = 3} : tensor<2x6x4x4xf32>
  %1 = aten.instance_norm %x {use_input_stats = true, momentum = 0.1, eps = 1.0e-05, cudnn_enabled = true} : tensor<2x6x4x4xf32>
  func.return %0, %1 : tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NATIVE_GROUP_NORM:.*]], %{{.*}}, %{{.*}} = aten.native_group_norm %x {N = 2, C = 6, HxW = 16, group = 3, eps = 1.0e-05} : (tensor<2x6x4x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: %[[NATIVE_GROUP_NORM4:.*]], %{{.*}}, %{{.*}} = aten.native_group_norm %x {N = 2, C = 6, HxW = 16, group = 6, eps = 1.0e-05} : (tensor<2x6x4x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
// CHECK-NEXT: func.return %[[NATIVE_GROUP_NORM]], %[[NATIVE_GROUP_NORM4]]

// -----

// Narrow floats are normalized as f32. Without `eps` it is the distance from 1 to the next number.
func.func @forward(%x: tensor<2x4xbf16>, %w: tensor<4xbf16>) -> tensor<2x4xbf16> {
  %0 = aten.rms_norm %x, %w {normalized_shape = [4]} : (tensor<2x4xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
  func.return %0 : tensor<2x4xbf16>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f32} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[TO_COPY]], %[[TO_COPY]]
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %[[MUL]] {dim = [-1], keepdim = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[MEAN]] {other = 1.1920928955078125e-07}
// CHECK-NEXT: %[[RSQRT:.*]] = aten.rsqrt %[[ADD]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %[[TO_COPY]], %[[RSQRT]] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[MUL3:.*]] = aten.mul.Tensor %[[MUL2]], %w : (tensor<2x4xf32>, tensor<4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %[[MUL3]] {dtype = bf16} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK-NEXT: func.return %[[TO_COPY2]]

// -----

// Training writes running statistics: torch's functionalization has another op for that.
func.func @forward(%x: tensor<2x3x4xf32>, %weight: tensor<3xf32>, %bias: tensor<3xf32>, %running_mean: tensor<3xf32>, %running_var: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = aten.batch_norm %x, %weight, %bias, %running_mean, %running_var {training = true, momentum = 0.1, eps = 1.0e-05, cudnn_enabled = true} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BATCH_NORM:.*]] = aten.batch_norm %x, %weight, %bias, %running_mean, %running_var {training = true, momentum = 0.1, eps = 1.0e-05, cudnn_enabled = true}
// CHECK-NEXT: func.return %[[BATCH_NORM]]
