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
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [1, 8, 5, 6]} : (tensor<1x2x4x5x6xf32>) -> tensor<1x8x5x6xf32>
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL2D:.*]] = aten._adaptive_avg_pool2d %[[VIEW]] {output_size = [2, 4]} : (tensor<1x8x5x6xf32>) -> tensor<1x8x2x4xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[ADAPTIVE_AVG_POOL2D]] {size = [1, 2, 4, 8]} : (tensor<1x8x2x4xf32>) -> tensor<1x2x4x8xf32>
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL2D2:.*]] = aten._adaptive_avg_pool2d %[[VIEW2]] {output_size = [3, 8]} : (tensor<1x2x4x8xf32>) -> tensor<1x2x3x8xf32>
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[ADAPTIVE_AVG_POOL2D2]] {size = [1, 2, 3, 2, 4]} : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x2x4xf32>
// CHECK-NEXT: func.return %[[VIEW3]]

// -----

func.func @forward(%x: tensor<1x2x?x5x6xf32>) -> tensor<1x2x3x2x4xf32> {
  %0 = aten._adaptive_avg_pool3d %x {output_size = [3, 2, 4]} : (tensor<1x2x?x5x6xf32>) -> tensor<1x2x3x2x4xf32>
  func.return %0 : tensor<1x2x3x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ADAPTIVE_AVG_POOL3D:.*]] = aten._adaptive_avg_pool3d %x {output_size = [3, 2, 4]} : (tensor<1x2x?x5x6xf32>) -> tensor<1x2x3x2x4xf32>
// CHECK-NEXT: func.return %[[ADAPTIVE_AVG_POOL3D]]

// -----

func.func @forward(%x: tensor<1x2x6x6x6xf32>) -> tensor<1x2x3x3x3xf32> {
  %0 = aten.max_pool3d %x {kernel_size = [2, 2, 2]} : (tensor<1x2x6x6x6xf32>) -> tensor<1x2x3x3x3xf32>
  func.return %0 : tensor<1x2x3x3x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [1, 12, 6, 6]}
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES:.*]], %{{.*}} = aten.max_pool2d_with_indices %[[VIEW]] {kernel_size = [2, 2], stride = [2, 2]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[MAX_POOL2D_WITH_INDICES]] {size = [1, 2, 6, 9]}
// CHECK-NEXT: %[[MAX_POOL2D_WITH_INDICES2:.*]], %{{.*}} = aten.max_pool2d_with_indices %[[VIEW2]] {kernel_size = [2, 1], stride = [2, 1]}
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[MAX_POOL2D_WITH_INDICES2]] {size = [1, 2, 3, 3, 3]}
// CHECK-NEXT: func.return %[[VIEW3]]

// -----

func.func @forward(%x: tensor<2x3x4x6x4xf32>) -> tensor<2x3x2x3x4xf32> {
  %0 = aten.adaptive_avg_pool3d %x {output_size = [2, 3, 4]} : (tensor<2x3x4x6x4xf32>) -> tensor<2x3x2x3x4xf32>
  func.return %0 : tensor<2x3x2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AVG_POOL3D:.*]] = aten.avg_pool3d %x {kernel_size = [2, 2, 1], stride = [2, 2, 1]} : (tensor<2x3x4x6x4xf32>) -> tensor<2x3x2x3x4xf32>
// CHECK-NEXT: func.return %[[AVG_POOL3D]]

// -----

func.func @forward(%x: tensor<2x3x4x4x4xf32>) -> tensor<2x3x1x1x1xf32> {
  %0 = aten.adaptive_avg_pool3d %x {output_size = [1, 1, 1]} : (tensor<2x3x4x4x4xf32>) -> tensor<2x3x1x1x1xf32>
  func.return %0 : tensor<2x3x1x1x1xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MEAN:.*]] = aten.mean.dim %x {dim = [-1, -2, -3], keepdim = true} : (tensor<2x3x4x4x4xf32>) -> tensor<2x3x1x1x1xf32>
// CHECK-NEXT: func.return %[[MEAN]]

// -----

func.func @forward(%x: tensor<2x4x4x4xf32>) -> (tensor<2x3x2x2xf32>, tensor<2x3x2x2xi64>) {
  %0, %1 = aten.adaptive_max_pool3d %x {output_size = [3, 2, 2]} : (tensor<2x4x4x4xf32>) -> (tensor<2x3x2x2xf32>, tensor<2x3x2x2xi64>)
  func.return %0, %1 : tensor<2x3x2x2xf32>, tensor<2x3x2x2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 3, dtype = i64}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[ARANGE]] {other = 4}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar_mode %[[MUL]] {other = 3, rounding_mode = "floor"}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[ARANGE]] {other = 1}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[ADD]] {other = 4}
// CHECK-NEXT: %[[ADD2:.*]] = aten.add.Scalar %[[MUL2]] {other = -1}
// CHECK-NEXT: %[[DIV2:.*]] = aten.div.Scalar_mode %[[ADD2]] {other = 3, rounding_mode = "floor"}
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[DIV]] {size = [3, 1]}
// CHECK-NEXT: %[[ADD3:.*]] = aten.add.Tensor %[[VIEW]], %[[ARANGE2]]
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[DIV2]] {size = [3, 1]}
// CHECK-NEXT: %[[MINIMUM:.*]] = aten.minimum %[[ADD3]], %[[VIEW2]]
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[MINIMUM]] {size = [3, 1, 1, 2, 1, 1]}
// CHECK-NEXT: %[[ARANGE3:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[MUL3:.*]] = aten.mul.Scalar %[[ARANGE3]] {other = 4}
// CHECK-NEXT: %[[DIV3:.*]] = aten.div.Scalar_mode %[[MUL3]] {other = 2, rounding_mode = "floor"}
// CHECK-NEXT: %[[ADD4:.*]] = aten.add.Scalar %[[ARANGE3]] {other = 1}
// CHECK-NEXT: %[[MUL4:.*]] = aten.mul.Scalar %[[ADD4]] {other = 4}
// CHECK-NEXT: %[[ADD5:.*]] = aten.add.Scalar %[[MUL4]] {other = -1}
// CHECK-NEXT: %[[DIV4:.*]] = aten.div.Scalar_mode %[[ADD5]] {other = 2, rounding_mode = "floor"}
// CHECK-NEXT: %[[ARANGE4:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %[[DIV3]] {size = [2, 1]}
// CHECK-NEXT: %[[ADD6:.*]] = aten.add.Tensor %[[VIEW4]], %[[ARANGE4]]
// CHECK-NEXT: %[[VIEW5:.*]] = aten.view %[[DIV4]] {size = [2, 1]}
// CHECK-NEXT: %[[MINIMUM2:.*]] = aten.minimum %[[ADD6]], %[[VIEW5]]
// CHECK-NEXT: %[[VIEW6:.*]] = aten.view %[[MINIMUM2]] {size = [1, 2, 1, 1, 2, 1]}
// CHECK-NEXT: %[[ARANGE5:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[MUL5:.*]] = aten.mul.Scalar %[[ARANGE5]] {other = 4}
// CHECK-NEXT: %[[DIV5:.*]] = aten.div.Scalar_mode %[[MUL5]] {other = 2, rounding_mode = "floor"}
// CHECK-NEXT: %[[ADD7:.*]] = aten.add.Scalar %[[ARANGE5]] {other = 1}
// CHECK-NEXT: %[[MUL6:.*]] = aten.mul.Scalar %[[ADD7]] {other = 4}
// CHECK-NEXT: %[[ADD8:.*]] = aten.add.Scalar %[[MUL6]] {other = -1}
// CHECK-NEXT: %[[DIV6:.*]] = aten.div.Scalar_mode %[[ADD8]] {other = 2, rounding_mode = "floor"}
// CHECK-NEXT: %[[ARANGE6:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[VIEW7:.*]] = aten.view %[[DIV5]] {size = [2, 1]}
// CHECK-NEXT: %[[ADD9:.*]] = aten.add.Tensor %[[VIEW7]], %[[ARANGE6]]
// CHECK-NEXT: %[[VIEW8:.*]] = aten.view %[[DIV6]] {size = [2, 1]}
// CHECK-NEXT: %[[MINIMUM3:.*]] = aten.minimum %[[ADD9]], %[[VIEW8]]
// CHECK-NEXT: %[[VIEW9:.*]] = aten.view %[[MINIMUM3]] {size = [1, 1, 2, 1, 1, 2]}
// CHECK-NEXT: %[[INDEX:.*]] = aten.index.Tensor %x, [none, %[[VIEW3]], %[[VIEW6]], %[[VIEW9]]]
// CHECK-NEXT: %[[VIEW10:.*]] = aten.view %[[INDEX]] {size = [2, 3, 2, 2, 8]}
// CHECK-NEXT: %[[MAX:.*]], %[[MAX2:.*]] = aten.max.dim %[[VIEW10]] {dim = -1}
// CHECK-NEXT: %[[MUL7:.*]] = aten.mul.Scalar %[[VIEW3]] {other = 4}
// CHECK-NEXT: %[[ADD10:.*]] = aten.add.Tensor %[[MUL7]], %[[VIEW6]]
// CHECK-NEXT: %[[MUL8:.*]] = aten.mul.Scalar %[[ADD10]] {other = 4}
// CHECK-NEXT: %[[ADD11:.*]] = aten.add.Tensor %[[MUL8]], %[[VIEW9]]
// CHECK-NEXT: %[[VIEW11:.*]] = aten.view %[[ADD11]] {size = [3, 2, 2, 8]}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[VIEW11]] {size = [2, 3, 2, 2, 8]}
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %[[MAX2]] {dim = -1}
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %[[EXPAND]], %[[UNSQUEEZE]] {dim = -1}
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[GATHER]] {dim = [-1]}
// CHECK-NEXT: func.return %[[MAX]], %[[SQUEEZE]]
