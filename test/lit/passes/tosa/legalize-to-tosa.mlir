// RUN: et-opt -p legalize-to-tosa --split-input-file %s | filecheck %s

// An image is between transposes. The last row and column of padding, which the stride leaves over, are cut off.
// CHECK-LABEL: func.func @image
// CHECK-NEXT:    %0 = "tosa.transpose"(%x) <{perms = array<i32: 0, 2, 3, 1>}> : (tensor<1x1x6x6xf32>) -> tensor<1x6x6x1xf32>
// CHECK:         %[[W:.*]] = "tosa.const"() <{values = dense<[{{.*}}]> : tensor<2x3x3x1xf32>}>
// CHECK:         "tosa.conv2d"(%0, %[[W]], %{{.*}}, %{{.*}}, %{{.*}}) <{pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>, acc_type = f32, local_bound = false}> : {{.*}} -> tensor<1x3x3x2xf32>
// CHECK-NEXT:    "tosa.transpose"{{.*}}perms = array<i32: 0, 3, 1, 2>
// CHECK-NEXT:    "tosa.clamp"{{.*}}min_val = 0.000000e+00 : f32
// CHECK-NEXT:    func.return
program.parameter @w : tensor<2x1x3x3xf32> = #program.data<f32, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0]>
program.parameter @b : tensor<2xf32> = #program.data<f32, [0.0, 1.0]>
func.func @image(%x: tensor<1x1x6x6xf32>) -> tensor<1x2x3x3xf32> {
  %w = program.get @w : tensor<2x1x3x3xf32>
  %b = program.get @b : tensor<2xf32>
  %0 = edge.convolution %x, %w, %b {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32>
  %1 = edge.relu %0 : tensor<1x2x3x3xf32>
  func.return %1 : tensor<1x2x3x3xf32>
}

// -----

// Operands of an op of elements have one rank.
// CHECK-LABEL: func.func @ranks
// CHECK-NEXT:    %[[S:.*]] = "tosa.const_shape"() <{values = dense<[1, 3]> : tensor<2xindex>}> : () -> !tosa.shape<2>
// CHECK-NEXT:    %[[Y:.*]] = "tosa.reshape"(%y, %[[S]]) : (tensor<3xf32>, !tosa.shape<2>) -> tensor<1x3xf32>
// CHECK-NEXT:    "tosa.add"(%x, %[[Y]]) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
func.func @ranks(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = edge.add.Tensor %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @softmax
// CHECK:         "tosa.reduce_max"(%x) <{axis = 1 : i32
// CHECK-NEXT:    "tosa.sub"
// CHECK-NEXT:    "tosa.exp"
// CHECK-NEXT:    "tosa.reduce_sum"
// CHECK-NEXT:    "tosa.reciprocal"
// CHECK:         "tosa.mul"
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge._softmax %x {dim = -1, half_to_float = false} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// Arguments and results have the shape that they have in memory.
// CHECK-LABEL: func.func @layout(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NEXT:    %0 = "tosa.transpose"(%x) <{perms = array<i32: 0, 3, 1, 2>}>
// CHECK-NEXT:    %1 = "tosa.abs"(%0) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT:    %2 = "tosa.transpose"(%1) <{perms = array<i32: 0, 2, 3, 1>}>
// CHECK-NEXT:    func.return %2
func.func @layout(%x: tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>> {
  %0 = edge.abs %x : tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>
  func.return %0 : tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>
}
