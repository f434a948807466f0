// RUN: et-opt -p convert-pdl-to-pdl-interp,convert-pdl-interp-to-eqsat-pdl-interp %S/Inputs/double.mlir -o %t.mlir
// RUN: et-opt -p 'eqsat-create-egraphs,apply-eqsat-pdl-interp{pdl-interp-file="%t.mlir"}' %s | filecheck %s
// RUN: et-opt -p eqsat-create-egraphs,eqsat-serialize-egraph %s | filecheck --check-prefix JSON %s

// CHECK-LABEL: @doubles
// CHECK:       equivalence.graph
// CHECK-DAG:   %[[add:.*]] = edge.add.Tensor
// CHECK-DAG:   %[[mul:.*]] = edge.mul.Scalar
// CHECK:       equivalence.class %[[mul]], %[[add]]

// JSON: "op": "edge.mul.Scalar"
func.func @doubles(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.mul.Scalar %x {other = 2} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
