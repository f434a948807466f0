// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

// Slices, then columns, and where both found their maximum.
func.func @forward(%x: tensor<1x2x4x6x6xf32>) -> (tensor<1x2x2x3x3xf32>, tensor<1x2x2x3x3xi64>) {
  %0, %1 = aten.max_pool3d_with_indices %x {kernel_size = [2, 2, 2]} : (tensor<1x2x4x6x6xf32>) -> (tensor<1x2x2x3x3xf32>, tensor<1x2x2x3x3xi64>)
  func.return %0, %1 : tensor<1x2x2x3x3xf32>, tensor<1x2x2x3x3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [1, 8, 6, 6]}
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES:.*]], %[[MAX_POOL2D_WITH_INDICES2:.*]] = aten.max_pool2d_with_indices %[[VIEW]] {kernel_size = [2, 2], stride = [2, 2]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[MAX_POOL2D_WITH_INDICES]] {size = [1, 2, 4, 9]}
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES3:.*]], %[[MAX_POOL2D_WITH_INDICES4:.*]] = aten.max_pool2d_with_indices %[[VIEW2]] {kernel_size = [2, 1], stride = [2, 1]}
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[MAX_POOL2D_WITH_INDICES4]] {size = [1, 2, 18]}
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %[[MAX_POOL2D_WITH_INDICES2]] {size = [1, 2, 36]}
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %[[VIEW4]], %[[VIEW3]] {dim = -1}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar_mode %[[VIEW3]] {other = 9, rounding_mode = "floor"}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[DIV]] {other = 36}
// CHECK-NEXT: %[[VIEW5:.*]] = aten.view %[[MAX_POOL2D_WITH_INDICES3]] {size = [1, 2, 2, 3, 3]}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MUL]], %[[GATHER]]
// CHECK-NEXT: %[[VIEW6:.*]] = aten.view %[[ADD]] {size = [1, 2, 2, 3, 3]}
// CHECK-NEXT: func.return %[[VIEW5]], %[[VIEW6]]

// -----

// Uneven windows, too.
func.func @forward(%x: tensor<1x2x4x5x6xf32>) -> tensor<1x2x3x2x4xf32> {
  %0 = aten._adaptive_avg_pool3d %x {output_size = [3, 2, 4]} : (tensor<1x2x4x5x6xf32>) -> tensor<1x2x3x2x4xf32>
  func.return %0 : tensor<1x2x3x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [1, 8, 5, 6]}
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL2D:.*]] = aten._adaptive_avg_pool2d %[[VIEW]] {output_size = [2, 4]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[ADAPTIVE_AVG_POOL2D]] {size = [1, 2, 4, 8]}
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL2D2:.*]] = aten._adaptive_avg_pool2d %[[VIEW2]] {output_size = [3, 8]}
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[ADAPTIVE_AVG_POOL2D2]] {size = [1, 2, 3, 2, 4]}
// CHECK-NEXT: func.return %[[VIEW3]]

// -----

func.func @forward(%x: tensor<1x2x?x5x6xf32>) -> tensor<1x2x3x2x4xf32> {
  %0 = aten._adaptive_avg_pool3d %x {output_size = [3, 2, 4]} : (tensor<1x2x?x5x6xf32>) -> tensor<1x2x3x2x4xf32>
  func.return %0 : tensor<1x2x3x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL3D:.*]] = aten._adaptive_avg_pool3d %x {output_size = [3, 2, 4]}
// CHECK-NEXT: func.return %[[ADAPTIVE_AVG_POOL3D]]
