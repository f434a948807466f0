// RUN: et-opt -p 'convert-to-loops{instruction-set=x86-64-v3}' %s | filecheck %s
// RUN: et-opt -p 'convert-to-loops{instruction-set=x86-64-v3}' %s | et-opt | filecheck %s

// Three passes over a row, whose last vectors are masked: the maximum, and what precedes the softmax; the sum; the
// result. Masked lanes have the neutral element.
// CHECK:       func.func private @softmax_0(%0: memref<?x70xf32>, %1: memref<70xf32>, %2: memref<?x70xf32>) {
// CHECK:         "scf.parallel"
// CHECK:           scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>) {
// CHECK:             arith.addf
// CHECK-NEXT:        vector.store %{{[0-9]+}}, %2[
// CHECK-NEXT:        {{.*}}native.compare "ogt"
// CHECK-NEXT:        {{.*}}native.select
// CHECK-NEXT:        scf.yield
// CHECK:           vector.create_mask
// CHECK-NEXT:      {{.*}}vector.maskedload %0[
// CHECK:           native.select
// CHECK:           vector.reduction <maxnumf>
// CHECK:           scf.for
// CHECK-NEXT:        {{.*}}vector.load %2[
// CHECK-NEXT:        {{.*}}arith.subf
// CHECK:             arith.shli
// CHECK:             native.compare "olt"
// CHECK-NEXT:        {{.*}}native.select
// CHECK-NEXT:        vector.store %{{[0-9]+}}, %2[
// CHECK-NEXT:        {{.*}}arith.addf
// CHECK:           vector.reduction <add>
// CHECK-NEXT:      {{.*}}arith.divf
// CHECK:           scf.for
// CHECK-NEXT:        {{.*}}vector.load %2[
// CHECK-NEXT:        {{.*}}arith.mulf
// CHECK-NEXT:        vector.store %{{[0-9]+}}, %2[

// Where the last dimension is kept, each lane has a row of its own.
// CHECK:       func.func private @sum_0(%0: memref<5x70xf32>, %1: memref<70xf32>) {
// CHECK:         "scf.parallel"
// CHECK:           vector.create_mask
// CHECK:           scf.for
// CHECK-NEXT:        {{.*}}vector.maskedload %0[
// CHECK-NEXT:        {{.*}}arith.addf
// CHECK-NEXT:        scf.yield
// CHECK-NOT:       vector.reduction
// CHECK:           vector.maskedstore %1[
// CHECK:       func.func @forward(
func.func @forward(%x: tensor<5x70xf32>, %y: tensor<70xf32>) -> (tensor<5x70xf32>, tensor<70xf32>) {
  %0 = native.kernel "rows"(%x, %y) : (tensor<5x70xf32>, tensor<70xf32>) -> tensor<5x70xf32> {
  ^bb0(%a: tensor<5x70xf32>, %b: tensor<70xf32>):
    %1 = edge.add.Tensor %a, %b : (tensor<5x70xf32>, tensor<70xf32>) -> tensor<5x70xf32>
    %2 = edge._softmax %1 {dim = -1, half_to_float = false} : tensor<5x70xf32>
    native.yield %2 : tensor<5x70xf32>
  }
  %3 = native.kernel "rows"(%x) : (tensor<5x70xf32>) -> tensor<70xf32> {
  ^bb0(%a: tensor<5x70xf32>):
    %4 = edge.sum.dim_IntList %a {dim = [0]} : (tensor<5x70xf32>) -> tensor<70xf32>
    native.yield %4 : tensor<70xf32>
  }
  func.return %0, %3 : tensor<5x70xf32>, tensor<70xf32>
}
