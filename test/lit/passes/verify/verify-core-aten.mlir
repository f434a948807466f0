// RUN: et-opt -p verify-core-aten %s | filecheck %s
// RUN: et-opt -p 'verify-core-aten{preserve=linear}' %s | filecheck %s

// Operators tagged core, and the copying forms of views.
// CHECK-LABEL: func.func @forward
// CHECK: aten.permute_copy
func.func @forward(%x: tensor<8x4xf32>, %w: tensor<2x4xf32>) -> tensor<8x2xf32> {
  %0 = aten.permute_copy %w {dims = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = aten.mm %x, %0 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  func.return %1 : tensor<8x2xf32>
}
