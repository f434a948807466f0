// RUN: et-opt -p pads-to-concatenations,dce --split-input-file %s | filecheck %s

// CHECK:       program.constant @pad : tensor<1x1xf32>
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:  %[[CUT:.*]] = edge.slice_copy.Tensor %x {dim = 1, start = 0, end = -1} : (tensor<3x?xf32, #program.sizes<s0>>) -> tensor<3x?xf32, #program.sizes<s0 - 1>>
// CHECK-NEXT:  %[[C:.*]] = program.get @pad
// CHECK-NEXT:  %[[PAD:.*]] = edge.expand_copy %[[C]] {size = [3, 2]} : (tensor<1x1xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  %[[Y:.*]] = edge.cat [%[[PAD]], %[[CUT]]] {dim = 1}
// CHECK-NEXT:  func.return %[[Y]]
func.func @forward(%x: tensor<3x?xf32, #program.sizes<s0>>) -> tensor<3x?xf32, #program.sizes<s0 + 1>> {
  %0 = edge.constant_pad_nd %x {pad = [2, -1], value = 0.5} : (tensor<3x?xf32, #program.sizes<s0>>) -> tensor<3x?xf32, #program.sizes<s0 + 1>>
  func.return %0 : tensor<3x?xf32, #program.sizes<s0 + 1>>
}

// -----

// Known sizes have a kernel.
// CHECK-LABEL: func.func @known
// CHECK-NEXT:  edge.constant_pad_nd
func.func @known(%x: tensor<3x4xf32>) -> tensor<3x6xf32> {
  %0 = edge.constant_pad_nd %x {pad = [2, 0], value = 0.5} : (tensor<3x4xf32>) -> tensor<3x6xf32>
  func.return %0 : tensor<3x6xf32>
}
