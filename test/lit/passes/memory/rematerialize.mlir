// RUN: et-opt -p rematerialize --split-input-file %s | filecheck %s
// RUN: et-opt -p rematerialize,cse --split-input-file %s | filecheck %s

// While the first product is there, %x is, and the result of relu need not be: it is computed again from %x.
// CHECK-LABEL: func.func @again
// CHECK:       %[[R:.*]] = edge.relu %x : tensor<64x64xf32>
// CHECK-NEXT:  %[[S:.*]] = edge.sum.dim_IntList %[[R]]
// CHECK-NEXT:  %[[Q:.*]] = edge.mul.Tensor %x, %[[S]]
// CHECK-NEXT:  {{.*}} = edge.amax %[[Q]]
// CHECK:       %[[R1:.*]] = edge.relu %x attributes {edge.apart = 0 : i64} : tensor<64x64xf32>
// CHECK-NEXT:  {{.*}} = edge.mul.Tensor %[[R1]]
func.func @again(%x : tensor<64x64xf32> {program.name = "x"}) -> (tensor<64xf32>, tensor<64xf32>) {
  %r = edge.relu %x : tensor<64x64xf32>
  %s = edge.sum.dim_IntList %r {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %q = edge.mul.Tensor %x, %s : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %m = edge.amax %q {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %p = edge.mul.Tensor %r, %m : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %a = edge.amax %p {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %s, %a : tensor<64xf32>, tensor<64xf32>
}

// -----

// Not where another order does: everything that uses relu runs before exp.
// CHECK-LABEL: func.func @reordered
// CHECK:       edge.relu
// CHECK-NOT:   edge.relu
func.func @reordered(%x : tensor<64x64xf32> {program.name = "x"}) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %r = edge.relu %x : tensor<64x64xf32>
  %s = edge.sum.dim_IntList %r {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %e = edge.exp %x : tensor<64x64xf32>
  %m = edge.amax %e {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %a = edge.amax %r {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %s, %a, %m : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// Not if it is the operand that would have to be kept instead: nothing else needs %y.
// CHECK-LABEL: func.func @operand
// CHECK:       edge.relu
// CHECK-NOT:   edge.relu
func.func @operand(%x : tensor<64x64xf32> {program.name = "x"}) -> (tensor<64xf32>, tensor<64xf32>) {
  %y = edge.sin %x : tensor<64x64xf32>
  %r = edge.relu %y : tensor<64x64xf32>
  %s = edge.sum.dim_IntList %r {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %q = edge.mul.Tensor %x, %s : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %m = edge.amax %q {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %p = edge.mul.Tensor %r, %m : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %a = edge.amax %p {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %s, %a : tensor<64xf32>, tensor<64xf32>
}

// -----

// Not what takes long: a product of matrices is kept.
// CHECK-LABEL: func.func @product
// CHECK:       edge.mm
// CHECK-NOT:   edge.mm
func.func @product(%x : tensor<64x64xf32> {program.name = "x"}) -> (tensor<64xf32>, tensor<64xf32>) {
  %r = edge.mm %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = edge.sum.dim_IntList %r {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %q = edge.mul.Tensor %x, %s : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %m = edge.amax %q {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  %p = edge.mul.Tensor %r, %m : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %a = edge.amax %p {dim = [1]} : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %s, %a : tensor<64xf32>, tensor<64xf32>
}
