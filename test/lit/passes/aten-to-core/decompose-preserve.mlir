// RUN: et-opt -p 'decompose{preserve=linear,"aten.transpose.int"}' --split-input-file %s | filecheck %s
// RUN: not et-opt -p 'decompose{preserve=liner}' --split-input-file %s 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: decompose{preserve}: unknown operator aten.liner

// Preserved operators stay, those that others are made of too.
func.func @forward(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = aten.linear %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = aten.silu %0 : tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[LINEAR:.*]] = aten.linear %x, %w
// CHECK-NEXT: %[[SIGMOID:.*]] = aten.sigmoid %[[LINEAR]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[LINEAR]], %[[SIGMOID]]
// CHECK-NEXT: func.return %[[MUL]]

// -----

func.func @forward(%q: tensor<5x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x3xf32>) -> tensor<5x3xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v : (tensor<5x4xf32>, tensor<6x4xf32>, tensor<6x3xf32>) -> tensor<5x3xf32>
  func.return %0 : tensor<5x3xf32>
}
// CHECK:      func.func @forward
// CHECK:      aten.transpose.int %k {dim0 = -2, dim1 = -1}
// CHECK:      aten.mm
