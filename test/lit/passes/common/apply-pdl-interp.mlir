// RUN: et-opt -p convert-pdl-to-pdl-interp %S/Inputs/double.mlir -o %t.mlir
// RUN: et-opt -p 'apply-pdl-interp{pdl-interp-file="%t.mlir"}' %s | filecheck %s
// RUN: not et-opt -p 'apply-pdl-interp{pdl-interp-file="%S"}' %s 2>&1 | filecheck --check-prefix FOLDER %s

// CHECK-LABEL: @doubles
// CHECK:       edge.add.Tensor %x, %x : tensor<2x3xf32>
// CHECK-NEXT:  func.return
func.func @doubles(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.mul.Scalar %x {other = 2} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// FOLDER: error: pass 'apply-pdl-interp': option 'pdl-interp-file': {{.*}}: is a folder
