// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Activations that keep, shrink or leak.

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.selu %x : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ELU:.*]] = aten.elu %x {alpha = 1.6732632423543772, scale = 1.0507009873554805}
// CHECK-NEXT: func.return %[[ELU]]

// -----

// A slope for each channel.
func.func @forward(%x: tensor<2x3x4xf32>, %weight: tensor<3xf32>, %weight2: tensor<1x3x1xf32>) -> tensor<2x3x4xf32> {
  %0 = aten.prelu %x, %weight : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %weight {size = [1, 3, 1]} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Scalar %x {other = 0} : (tensor<2x3x4xf32>) -> tensor<2x3x4xi1>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %[[VIEW]] : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[GT]], %x, %[[MUL]] : (tensor<2x3x4xi1>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %1 = aten.softshrink %x {lambd = 0.75} : tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[HARDTANH:.*]] = aten.hardtanh %x {min_val = -0.75, max_val = 0.75} : tensor<3xf32>
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %x, %[[HARDTANH]] : tensor<3xf32>
// CHECK-NEXT: func.return %[[SUB]]

// -----

// Outside of training.
func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>) {
  %0, %1 = aten.native_dropout %x {p = 0.5, train = false} : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [3], fill_value = true, dtype = i1}
// CHECK-NEXT: func.return %x, %[[FULL]]

// -----

// In training its mask is random, and a result.
func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>) {
  %0, %1 = aten.native_dropout %x {p = 0.5, train = true} : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NATIVE_DROPOUT:.*]], %[[NATIVE_DROPOUT2:.*]] = aten.native_dropout %x {p = 0.5, train = true}
// CHECK-NEXT: func.return %[[NATIVE_DROPOUT]], %[[NATIVE_DROPOUT2]]

// -----

// Kernels of `hardtanh` take no unsigned integers.
func.func @forward(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = aten.hardtanh %x {min_val = 1, max_val = 3} : tensor<4xui8>
  func.return %0 : tensor<4xui8>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CLAMP:.*]] = aten.clamp %x {min = 1, max = 3}
// CHECK-NEXT: func.return %[[CLAMP]]

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.hardtanh %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[HARDTANH:.*]] = aten.hardtanh %x
// CHECK-NEXT: func.return %[[HARDTANH]]
