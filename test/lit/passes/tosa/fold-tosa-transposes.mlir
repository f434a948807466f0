// RUN: et-opt -p fold-tosa-transposes --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @sinks
// CHECK-NEXT:    %0 = "tosa.abs"(%x) : (tensor<1x4x5x2xf32>) -> tensor<1x4x5x2xf32>
// CHECK-NEXT:    func.return %0
func.func @sinks(%x: tensor<1x4x5x2xf32>) -> tensor<1x4x5x2xf32> {
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 0, 3, 1, 2>}> : (tensor<1x4x5x2xf32>) -> tensor<1x2x4x5xf32>
  %1 = "tosa.abs"(%0) : (tensor<1x2x4x5xf32>) -> tensor<1x2x4x5xf32>
  %2 = "tosa.transpose"(%1) <{perms = array<i32: 0, 2, 3, 1>}> : (tensor<1x2x4x5xf32>) -> tensor<1x4x5x2xf32>
  func.return %2 : tensor<1x4x5x2xf32>
}

// -----

// Both operands of a sum, and the axis of a reduction.
// CHECK-LABEL: func.func @reduces
// CHECK-NEXT:    %0 = "tosa.add"(%x, %y)
// CHECK-NEXT:    %1 = "tosa.reduce_sum"(%0) <{axis = 3 : i32}> : (tensor<1x4x5x2xf32>) -> tensor<1x4x5x1xf32>
// CHECK-NEXT:    %2 = "tosa.const_shape"() <{values = dense<[1, 1, 4, 5]>
// CHECK-NEXT:    %3 = "tosa.reshape"(%1, %2)
// CHECK-NEXT:    func.return %3
func.func @reduces(%x: tensor<1x4x5x2xf32>, %y: tensor<1x4x5x2xf32>) -> tensor<1x1x4x5xf32> {
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 0, 3, 1, 2>}> : (tensor<1x4x5x2xf32>) -> tensor<1x2x4x5xf32>
  %1 = "tosa.transpose"(%y) <{perms = array<i32: 0, 3, 1, 2>}> : (tensor<1x4x5x2xf32>) -> tensor<1x2x4x5xf32>
  %2 = "tosa.add"(%0, %1) : (tensor<1x2x4x5xf32>, tensor<1x2x4x5xf32>) -> tensor<1x2x4x5xf32>
  %3 = "tosa.reduce_sum"(%2) <{axis = 1 : i32}> : (tensor<1x2x4x5xf32>) -> tensor<1x1x4x5xf32>
  func.return %3 : tensor<1x1x4x5xf32>
}

// -----

// One operand is not transposed: nothing moves.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    %0 = "tosa.transpose"(%x)
// CHECK-NEXT:    %1 = "tosa.add"(%0, %y)
func.func @stays(%x: tensor<3x2xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 1, 0>}> : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %1 = "tosa.add"(%0, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
