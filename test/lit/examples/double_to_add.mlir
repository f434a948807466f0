// RUN: et-opt --load %S/../../../examples/passes/double_to_add.py -p double-to-add %s | filecheck %s

// CHECK-LABEL: @doubles
// CHECK:       edge.add.Tensor %x, %x : tensor<2x3xf32>
// CHECK-NEXT:  func.return
func.func @doubles(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.mul.Scalar %x {other = 2} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @triples
// CHECK:       edge.mul.Scalar %x {other = 3}
func.func @triples(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.mul.Scalar %x {other = 3} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
