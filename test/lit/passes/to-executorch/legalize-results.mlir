// RUN: et-opt -p legalize,dce --split-input-file %s | filecheck %s

// What the stock runtime's kernels would compute otherwise, or refuse.

// A product over nothing is zero: the kernels leave what was in the result's memory.
func.func @forward(%x: tensor<4x0xf32>, %y: tensor<0x2xf32>) -> tensor<4x2xf32> {
  %0 = edge.mm %x, %y : (tensor<4x0xf32>, tensor<0x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = edge.full {size = [4, 2], fill_value = 0, dtype = f32}
// CHECK-NEXT: func.return %[[FULL]]

// -----

func.func @forward(%x: tensor<2x4x0xf32>, %y: tensor<2x0x2xf32>) -> tensor<2x4x2xf32> {
  %0 = edge.bmm %x, %y : (tensor<2x4x0xf32>, tensor<2x0x2xf32>) -> tensor<2x4x2xf32>
  func.return %0 : tensor<2x4x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = edge.full {size = [2, 4, 2], fill_value = 0, dtype = f32}
// CHECK-NEXT: func.return %[[FULL]]

// -----

// A product over something stays.
func.func @forward(%x: tensor<4x1xf32>, %y: tensor<1x2xf32>) -> tensor<4x2xf32> {
  %0 = edge.mm %x, %y : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MM:.*]] = edge.mm %x, %y
// CHECK-NEXT: func.return %[[MM]]

// -----

func.func @forward(%x: tensor<3x5xf32>) -> tensor<3x2xf32> {
  %0 = edge.narrow_copy %x {dim = -1, start = -3, length = 2} : (tensor<3x5xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SLICE_COPY:.*]] = edge.slice_copy.Tensor %x {dim = 1, start = 2, end = 4}
// CHECK-NEXT: func.return %[[SLICE_COPY]]

// -----

// Halves in single precision, as torch does.
func.func @forward(%x: tensor<3xf16>) -> tensor<3xf16> {
  %0 = edge.logit %x : tensor<3xf16>
  func.return %0 : tensor<3xf16>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[DIM_ORDER_OPS:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = f32}
// CHECK-NEXT: %[[LOGIT:.*]] = edge.logit %[[DIM_ORDER_OPS]]
// CHECK-NEXT: %[[DIM_ORDER_OPS2:.*]] = edge.dim_order_ops._to_dim_order_copy %[[LOGIT]] {dtype = f16}
// CHECK-NEXT: func.return %[[DIM_ORDER_OPS2]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = edge.logit %x : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOGIT:.*]] = edge.logit %x
// CHECK-NEXT: func.return %[[LOGIT]]

// -----

func.func @forward(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %0 = edge._log_softmax %x {dim = 1, half_to_float = false} : tensor<3x4xf64>
  func.return %0 : tensor<3x4xf64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AMAX:.*]] = edge.amax %x {dim = [1], keepdim = true}
// CHECK-NEXT: %[[SUB:.*]] = edge.sub.Tensor %x, %[[AMAX]]
// CHECK-NEXT: %[[EXP:.*]] = edge.exp %[[SUB]]
// CHECK-NEXT: %[[VIEW_COPY:.*]] = edge.view_copy %[[EXP]] {size = [3, 4, 1]}
// CHECK-NEXT: %[[SUM:.*]] = edge.sum.dim_IntList %[[VIEW_COPY]] {dim = [1, 2], keepdim = true}
// CHECK-NEXT: %[[VIEW_COPY2:.*]] = edge.view_copy %[[SUM]] {size = [3, 1]}
// CHECK-NEXT: %[[LOG:.*]] = edge.log %[[VIEW_COPY2]]
// CHECK-NEXT: %[[SUB2:.*]] = edge.sub.Tensor %[[SUB]], %[[LOG]]
// CHECK-NEXT: func.return %[[SUB2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = edge._log_softmax %x {dim = 1, half_to_float = false} : tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LOG_SOFTMAX:.*]] = edge._log_softmax %x {dim = 1, half_to_float = false}
// CHECK-NEXT: func.return %[[LOG_SOFTMAX]]

// -----

// The remainder has the sign of the divisor.
func.func @forward(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = edge.remainder.Tensor %x, %y : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FMOD:.*]] = edge.fmod.Tensor %x, %y
// CHECK-NEXT: %[[LT:.*]] = edge.lt.Scalar %[[FMOD]] {other = 0}
// CHECK-NEXT: %[[LT2:.*]] = edge.lt.Scalar %y {other = 0}
// CHECK-NEXT: %[[LOGICAL_XOR:.*]] = edge.logical_xor %[[LT]], %[[LT2]]
// CHECK-NEXT: %[[NE:.*]] = edge.ne.Scalar %[[FMOD]] {other = 0}
// CHECK-NEXT: %[[LOGICAL_AND:.*]] = edge.logical_and %[[LOGICAL_XOR]], %[[NE]]
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Tensor %[[FMOD]], %y
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[LOGICAL_AND]], %[[ADD]], %[[FMOD]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// Of a number, it is known.
func.func @forward(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = edge.remainder.Scalar %x {other = 3} : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FMOD:.*]] = edge.fmod.Scalar %x {other = 3}
// CHECK-NEXT: %[[LT:.*]] = edge.lt.Scalar %[[FMOD]] {other = 0}
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Scalar %[[FMOD]] {other = 3}
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[LT]], %[[ADD]], %[[FMOD]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = edge.remainder.Scalar %x {other = -3} : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FMOD:.*]] = edge.fmod.Scalar %x {other = -3}
// CHECK-NEXT: %[[GT:.*]] = edge.gt.Scalar %[[FMOD]] {other = 0}
// CHECK-NEXT: %[[ADD:.*]] = edge.add.Scalar %[[FMOD]] {other = -3}
// CHECK-NEXT: %[[WHERE:.*]] = edge.where.self %[[GT]], %[[ADD]], %[[FMOD]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

// Windows of nothing.
func.func @forward(%x: tensor<f32>) -> tensor<1xf32> {
  %0 = edge.unfold_copy %x {dimension = 0, size = 1, step = 1} : (tensor<f32>) -> tensor<1xf32>
  func.return %0 : tensor<1xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW_COPY:.*]] = edge.view_copy %x {size = [1]}
// CHECK-NEXT: func.return %[[VIEW_COPY]]

// -----

// Planes of volumes are images.
func.func @forward(%x: tensor<1x1x3x4x4xf32>, %y: tensor<2x1x2x3x3xf32>) -> tensor<1x2x2x2x2xf32> {
  %0 = edge.convolution %x, %y {stride = [1, 1, 1], padding = [0, 0, 0], dilation = [1, 1, 1], transposed = false, output_padding = [0, 0, 0], groups = 1} : (tensor<1x1x3x4x4xf32>, tensor<2x1x2x3x3xf32>) -> tensor<1x2x2x2x2xf32>
  func.return %0 : tensor<1x2x2x2x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[AS_STRIDED_COPY:.*]] = edge.as_strided_copy %x {size = [1, 2, 1, 2, 4, 4], stride = [48, 16, 48, 16, 4, 1], storage_offset = 0}
// CHECK-NEXT: %[[VIEW_COPY:.*]] = edge.view_copy %[[AS_STRIDED_COPY]] {size = [2, 2, 4, 4]}
// CHECK-NEXT: %[[VIEW_COPY2:.*]] = edge.view_copy %y {size = [2, 2, 3, 3]}
// CHECK-NEXT: %[[CONVOLUTION:.*]] = edge.convolution %[[VIEW_COPY]], %[[VIEW_COPY2]] {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1}
// CHECK-NEXT: %[[VIEW_COPY3:.*]] = edge.view_copy %[[CONVOLUTION]] {size = [1, 2, 2, 2, 2]}
// CHECK-NEXT: %[[PERMUTE_COPY:.*]] = edge.permute_copy %[[VIEW_COPY3]] {dims = [0, 2, 1, 3, 4]}
// CHECK-NEXT: func.return %[[PERMUTE_COPY]]

// -----

func.func @forward(%x: tensor<4x3xf32>, %i: tensor<4x2xi64>, %y: tensor<4x2xf32>) -> tensor<4x3xf32> {
  %0 = edge.scatter_reduce.two %x, %i, %y {dim = 1, reduce = "sum"} : (tensor<4x3xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x3xf32>
  func.return %0 : tensor<4x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ADDED:.*]] = edge.scatter_add %x, %i, %y {dim = 1}
// CHECK-NEXT: func.return %[[ADDED]]

// -----

// Of what is scattered alone; where nothing is, the tensor stays as it was.
func.func @forward(%x: tensor<4x3xi64>, %i: tensor<4x2xi64>, %y: tensor<4x2xi64>) -> tensor<4x3xi64> {
  %0 = edge.scatter_reduce.two %x, %i, %y {dim = 1, reduce = "mean", include_self = false} : (tensor<4x3xi64>, tensor<4x2xi64>, tensor<4x2xi64>) -> tensor<4x3xi64>
  func.return %0 : tensor<4x3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CLEARED:.*]] = edge.scatter.value %x, %i {dim = 1, value = 0}
// CHECK-NEXT: %[[TOTAL:.*]] = edge.scatter_add %[[CLEARED]], %i, %y {dim = 1}
// CHECK-NEXT: %[[ZEROS:.*]] = edge.full {size = [4, 3], fill_value = 0, dtype = i64}
// CHECK-NEXT: %[[ONES:.*]] = edge.full {size = [4, 2], fill_value = 1, dtype = i64}
// CHECK-NEXT: %[[COUNT:.*]] = edge.scatter_add %[[ZEROS]], %i, %[[ONES]] {dim = 1}
// CHECK-NEXT: %[[CLAMP:.*]] = edge.clamp %[[COUNT]] {min = 1}
// CHECK-NEXT: %[[MEAN:.*]] = edge.div.Tensor_mode %[[TOTAL]], %[[CLAMP]] {rounding_mode = "floor"}
// CHECK-NEXT: func.return %[[MEAN]]

// -----

func.func @forward(%x: tensor<3xi1>, %y: tensor<3xi1>) -> (tensor<3xi64>, tensor<3xi1>) {
  %0 = edge.add.Scalar %x {other = 2} : (tensor<3xi1>) -> tensor<3xi64>
  %1 = edge.add.Scalar %y {other = true} : tensor<3xi1>
  func.return %0, %1 : tensor<3xi64>, tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NUMBER:.*]] = edge.dim_order_ops._to_dim_order_copy %x {dtype = i64}
// CHECK-NEXT: edge.add.Scalar %[[NUMBER]] {other = 2} : tensor<3xi64>
// CHECK-NEXT: edge.bitwise_or.Scalar %y {other = true} : tensor<3xi1>
// CHECK-NEXT: func.return
