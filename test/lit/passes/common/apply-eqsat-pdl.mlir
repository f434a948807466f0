// RUN: et-opt -p 'eqsat-create-eclasses,apply-eqsat-pdl{pdl-file="%S/Inputs/double.mlir"}' %s | filecheck %s
// RUN: et-opt -p 'eqsat-create-eclasses,apply-eqsat-pdl{pdl-file="%S/Inputs/double.mlir"},eqsat-add-costs{cost-file="%S/Inputs/costs.json" default=1},eqsat-extract' %s | filecheck --check-prefix BEST %s
// RUN: not et-opt -p apply-eqsat-pdl %s 2>&1 | filecheck --check-prefix NONE %s
// RUN: not et-opt -p 'apply-eqsat-pdl{pdl-file="none.mlir"}' %s 2>&1 | filecheck --check-prefix MISSING %s
// RUN: not et-opt -p 'eqsat-add-costs{cost-file="none.json"}' %s 2>&1 | filecheck --check-prefix COSTS %s

// CHECK-LABEL: @doubles
// CHECK:       %[[x:.*]] = equivalence.class %x
// CHECK-DAG:   %[[add:.*]] = edge.add.Tensor %[[x]], %[[x]]
// CHECK-DAG:   %[[mul:.*]] = edge.mul.Scalar %[[x]] {other = 2}
// CHECK:       equivalence.class %[[mul]], %[[add]]

// BEST-LABEL: @doubles
// BEST:       edge.add.Tensor %x, %x : tensor<2x3xf32>
// BEST-NEXT:  func.return
func.func @doubles(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.mul.Scalar %x {other = 2} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// NONE:     error: the module has no 'pdl.pattern'
// NONE:     name a module with rules by the option pdl-file
// MISSING:  error: pass 'apply-eqsat-pdl': option 'pdl-file': none.mlir: no such file
// COSTS:    error: pass 'eqsat-add-costs': option 'cost-file': none.json: no such file
