// RUN: et-opt --split-input-file -p 'apply-pdl{pdl-file="%S/Inputs/double.mlir"}' %s | filecheck %s
// RUN: et-opt --split-input-file --allow-unregistered-dialect -p 'apply-pdl{pdl-file="%S/Inputs/double.mlir"}' %s | filecheck %s
// RUN: et-opt --split-input-file -p apply-pdl %s | filecheck --check-prefix OWN %s
// RUN: not et-opt -p 'apply-pdl{pdl-file="%S/none.mlir"}' %s 2>&1 | filecheck --check-prefix MISSING %s

// The op that the rule creates is not in the text.
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

// -----

// A rule of the module itself, which creates an operator that the module declares.
program.operator "mylib::twice(Tensor x) -> Tensor" out "mylib::twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
pdl.pattern @double : benefit(1) {
  %t = pdl.type
  %x = pdl.operand : %t
  %two = pdl.attribute = 4 : i64
  %mul = pdl.operation "edge.mul.Scalar" (%x : !pdl.value) {"other" = %two} -> (%t : !pdl.type)
  pdl.rewrite %mul {
    %twice = pdl.operation "edge.mylib.twice" (%x : !pdl.value) -> (%t : !pdl.type)
    pdl.replace %mul with %twice
  }
}

// OWN-LABEL: @quadruples
// OWN:       edge.mylib.twice %{{.*}} : tensor<2x3xf32>
func.func @quadruples(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.mul.Scalar %x {other = 4} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// MISSING: error: pass 'apply-pdl': option 'pdl-file': {{.*}}none.mlir: no such file
