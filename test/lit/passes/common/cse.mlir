// RUN: et-opt -p cse --split-input-file %s | filecheck %s

program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
// CHECK-LABEL: func.func @merges
func.func @merges(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[W:.*]] = program.get @w
  %0 = program.get @w : tensor<4xf32>
  %1 = program.get @w : tensor<4xf32>
  // CHECK-NEXT: %[[A:.*]] = aten.add.Tensor %x, %[[W]]
  %2 = aten.add.Tensor %x, %0 : tensor<4xf32>
  // The operands of a commutative op may come in either order, unless one is scaled.
  %3 = aten.add.Tensor %1, %x : tensor<4xf32>
  // CHECK-NEXT: %[[S:.*]] = aten.add.Tensor %x, %[[W]] {alpha = 2}
  %4 = aten.add.Tensor %x, %0 {alpha = 2} : tensor<4xf32>
  // CHECK-NEXT: %[[T:.*]] = aten.add.Tensor %[[W]], %x {alpha = 2}
  %5 = aten.add.Tensor %1, %x {alpha = 2} : tensor<4xf32>
  // CHECK-NEXT: %[[M:.*]] = aten.mul.Tensor %[[A]], %[[A]]
  %6 = aten.mul.Tensor %2, %3 : tensor<4xf32>
  // CHECK-NEXT: func.return %[[M]], %[[S]], %[[T]]
  func.return %6, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Other operands, literals or types, random ops, and reads with a write between them differ.
program.buffer mutable @state : tensor<4xf32>
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: aten.sub.Tensor %x, %y
  // CHECK-NEXT: aten.sub.Tensor %y, %x
  %0 = aten.sub.Tensor %x, %y : tensor<4xf32>
  %1 = aten.sub.Tensor %y, %x : tensor<4xf32>
  // CHECK-NEXT: aten.mul.Scalar %x {other = 1}
  // CHECK-NEXT: aten.mul.Scalar %x {other = 1.0}
  %2 = aten.mul.Scalar %x {other = 1} : tensor<4xf32>
  %3 = aten.mul.Scalar %x {other = 1.0} : tensor<4xf32>
  // CHECK-NEXT: aten.rand
  // CHECK-NEXT: aten.rand
  %4 = aten.rand {size = [4]} : () -> tensor<4xf32>
  %5 = aten.rand {size = [4]} : () -> tensor<4xf32>
  // CHECK-NEXT: program.load
  // CHECK-NEXT: program.store
  // CHECK-NEXT: program.load
  %6 = program.load @state : tensor<4xf32>
  %7 = program.load @state : tensor<4xf32>
  program.store @state, %0 : tensor<4xf32>
  %8 = program.load @state : tensor<4xf32>
  %9 = aten.add.Tensor %6, %7 : tensor<4xf32>
  func.return %9, %8 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Along the dominator tree: an equal op in a block that dominates counts, one in a sibling does not.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  // CHECK: %[[R:.*]] = aten.relu %x
  %0 = aten.relu %x : tensor<4xf32>
  "cf.cond_br"(%c) [^left, ^right] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
^left:
  // CHECK: aten.neg %[[R]]
  %1 = aten.relu %x : tensor<4xf32>
  %2 = aten.neg %1 : tensor<4xf32>
  "cf.br"(%2) [^end] : (tensor<4xf32>) -> ()
^right:
  // CHECK: aten.neg %[[R]]
  %3 = aten.neg %0 : tensor<4xf32>
  "cf.br"(%3) [^end] : (tensor<4xf32>) -> ()
^end(%4: tensor<4xf32>):
  func.return %4 : tensor<4xf32>
}

// -----

// A size that several tensors have is read off the first.
// CHECK-LABEL: func.func @sizes
func.func @sizes(%x: tensor<?x4xf32, #program.sizes<s0>>, %y: tensor<?x4xf32>) -> (i64, i64, i64) {
  // CHECK: %[[N:.*]] = aten.sym_size.int %x {dim = 0}
  %0 = aten.sym_size.int %x {dim = 0} : (tensor<?x4xf32, #program.sizes<s0>>) -> i64
  %1 = aten.neg %x : tensor<?x4xf32, #program.sizes<s0>>
  // CHECK-NOT: aten.sym_size.int %{{[0-9]}}
  %2 = aten.sym_size.int %1 {dim = 0} : (tensor<?x4xf32, #program.sizes<s0>>) -> i64
  // CHECK: %[[M:.*]] = aten.sym_size.int %y {dim = 0}
  %3 = aten.sym_size.int %y {dim = 0} : (tensor<?x4xf32>) -> i64
  // CHECK: func.return %[[N]], %[[N]], %[[M]]
  func.return %0, %2, %3 : i64, i64, i64
}
