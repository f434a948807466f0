// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %0 = aten.max_pool2d %x {kernel_size = [2, 2]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES:.*]], %{{.*}} = aten.max_pool2d_with_indices %x {kernel_size = [2, 2]} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
// CHECK-NEXT: func.return %[[MAX_POOL2D_WITH_INDICES]]

// -----

// One dimension is two of which one is 1.
func.func @forward(%x: tensor<1x2x8xf32>) -> tensor<1x2x4xf32> {
  %0 = aten.avg_pool1d %x {kernel_size = [2]} : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = -2} : (tensor<1x2x8xf32>) -> tensor<1x2x1x8xf32>
// CHECK-NEXT: %[[AVG_POOL2D:.*]] = aten.avg_pool2d %[[UNSQUEEZE]] {kernel_size = [1, 2], stride = [1, 2]} : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x4xf32>
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[AVG_POOL2D]] {dim = [-2]} : (tensor<1x2x1x4xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %[[SQUEEZE]]

// -----

// Adaptive pooling is a mean, a plain pooling, nothing, or itself.
func.func @forward(%x: tensor<1x2x8x6xf32>) -> (tensor<1x2x1x1xf32>, tensor<1x2x4x2xf32>, tensor<1x2x8x6xf32>, tensor<1x2x3x4xf32>) {
  %0 = aten.adaptive_avg_pool2d %x {output_size = [1, 1]} : (tensor<1x2x8x6xf32>) -> tensor<1x2x1x1xf32>
  %1 = aten.adaptive_avg_pool2d %x {output_size = [4, 2]} : (tensor<1x2x8x6xf32>) -> tensor<1x2x4x2xf32>
  %2 = aten.adaptive_avg_pool2d %x {output_size = [8, 6]} : tensor<1x2x8x6xf32>
  %3 = aten.adaptive_avg_pool2d %x {output_size = [3, 4]} : (tensor<1x2x8x6xf32>) -> tensor<1x2x3x4xf32>
  func.return %0, %1, %2, %3 : tensor<1x2x1x1xf32>, tensor<1x2x4x2xf32>, tensor<1x2x8x6xf32>, tensor<1x2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [1, 2, 48]} : (tensor<1x2x8x6xf32>) -> tensor<1x2x48xf32>
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %[[VIEW]] {dim = [-1], keepdim = true} : (tensor<1x2x48xf32>) -> tensor<1x2x1xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[MEAN]] {size = [1, 2, 1, 1]} : (tensor<1x2x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT: %[[AVG_POOL2D:.*]] = aten.avg_pool2d %x {kernel_size = [2, 3], stride = [2, 3]} : (tensor<1x2x8x6xf32>) -> tensor<1x2x4x2xf32>
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL2D:.*]] = aten._adaptive_avg_pool2d %x {output_size = [3, 4]} : (tensor<1x2x8x6xf32>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT: func.return %[[VIEW2]], %[[AVG_POOL2D]], %x, %[[ADAPTIVE_AVG_POOL2D]]

// -----

func.func @forward(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x3x7xf32>, tensor<1x2x4x5xf32>) {
  %0 = aten.pad %x {pad = [1, 2]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x7xf32>
  %1 = aten.pad %x {pad = [1, 0, 0, 1], mode = "reflect"} : (tensor<1x2x3x4xf32>) -> tensor<1x2x4x5xf32>
  func.return %0, %1 : tensor<1x2x3x7xf32>, tensor<1x2x4x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = aten.constant_pad_nd %x {pad = [1, 2], value = 0.0} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x7xf32>
// CHECK-NEXT: %[[REFLECTION_PAD2D:.*]] = aten.reflection_pad2d %x {padding = [1, 0, 0, 1]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x4x5xf32>
// CHECK-NEXT: func.return %[[CONSTANT_PAD_ND]], %[[REFLECTION_PAD2D]]

// -----

// A circle: the end comes first, the start last.
func.func @forward(%x: tensor<2x3x4xf32>) -> tensor<2x3x7xf32> {
  %0 = aten.pad %x {pad = [1, 2], mode = "circular"} : (tensor<2x3x4xf32>) -> tensor<2x3x7xf32>
  func.return %0 : tensor<2x3x7xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[END:.*]] = aten.slice.Tensor %x {dim = 2, start = -1}
// CHECK-NEXT: %[[START:.*]] = aten.slice.Tensor %x {dim = 2, start = 0, end = 2}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[END]], %x, %[[START]]] {dim = 2}
// CHECK-NEXT: func.return %[[CAT]]

// -----

// Of which nothing can be cut off.
func.func @forward(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = aten.pad %x {pad = [-1, 1], mode = "circular"} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.pad %x
