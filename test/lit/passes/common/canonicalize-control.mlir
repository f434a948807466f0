// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// A condition that is known.
func.func @known(%x: tensor<4xf32>) -> tensor<4xf32> {
  %t = program.literal true
  %r = control.cond %t : i1 -> (tensor<4xf32>) {
    %a = aten.relu %x : tensor<4xf32>
    control.yield %a : tensor<4xf32>
  } else {
    control.yield %x : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK-LABEL: @known
// CHECK-NEXT: %a = aten.relu %x : tensor<4xf32>
// CHECK-NEXT: func.return %a

// -----

// A constant tensor is known, too.
program.constant @never : tensor<i1> = #program.data<i1, [0]>
func.func @constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = program.get @never : tensor<i1>
  %r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
    %a = aten.relu %x : tensor<4xf32>
    control.yield %a : tensor<4xf32>
  } else {
    %b = aten.neg %x : tensor<4xf32>
    control.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK-LABEL: @constant
// CHECK-NEXT: %b = aten.neg %x : tensor<4xf32>
// CHECK-NEXT: func.return %b

// -----

// What the types of the results say, others may rely on: a branch that says less stays.
func.func @types(%x: tensor<?x4xf32>) -> tensor<2x4xf32> {
  %t = program.literal true
  %r = control.cond %t : i1 -> (tensor<2x4xf32>) {
    control.yield %x : tensor<?x4xf32>
  } else {
    control.yield %x : tensor<?x4xf32>
  }
  func.return %r : tensor<2x4xf32>
}
// CHECK-LABEL: @types
// CHECK: control.cond

// -----

// One result is the same in both branches, another is not used.
func.func @alike(%x: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r, %s, %u = control.cond %p : tensor<i1> -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = aten.relu %x : tensor<4xf32>
    %e = aten.exp %x : tensor<4xf32>
    control.yield %x, %a, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } else {
    control.yield %x, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %r, %s : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @alike
// CHECK-NEXT: %s = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
// CHECK-NEXT:   %a = aten.relu %x : tensor<4xf32>
// CHECK-NEXT:   control.yield %a : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT:   control.yield %x : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %x, %s

// -----

// A condition without results that anyone uses is gone.
func.func @unused(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
    %a = aten.relu %x : tensor<4xf32>
    control.yield %a : tensor<4xf32>
  } else {
    control.yield %x : tensor<4xf32>
  }
  func.return %x : tensor<4xf32>
}
// CHECK-LABEL: @unused
// CHECK-NEXT: func.return %x

// -----

// A loop carries what changes only.
func.func @unchanged(%i: tensor<i64>, %x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
  %j, %y, %m = control.while (%i, %x, %n) : (tensor<i64>, tensor<4xf32>, tensor<i64>) -> (tensor<i64>, tensor<4xf32>, tensor<i64>) {
  ^bb0(%a: tensor<i64>, %b: tensor<4xf32>, %c: tensor<i64>):
    %p = aten.lt.Tensor %a, %c : (tensor<i64>, tensor<i64>) -> tensor<i1>
    control.yield %p : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>, %b: tensor<4xf32>, %c: tensor<i64>):
    %d = aten.add.Scalar %a {other = 1} : tensor<i64>
    %e = aten.relu %b : tensor<4xf32>
    control.yield %d, %e, %c : tensor<i64>, tensor<4xf32>, tensor<i64>
  }
  func.return %y, %m : tensor<4xf32>, tensor<i64>
}
// CHECK-LABEL: @unchanged
// CHECK-NEXT: control.while(%i, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
// CHECK-NEXT: ^{{.*}}(%a: tensor<i64>, %b: tensor<4xf32>):
// CHECK-NEXT:   %p = aten.lt.Tensor %a, %n
// CHECK: control.yield %d, %e : tensor<i64>, tensor<4xf32>
// CHECK: func.return %y, %n

// -----

func.func @scan(%h: tensor<4xf32>, %k: tensor<4xf32>, %xs: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a, %b, %s = control.scan (%h, %k) over (%xs) : (tensor<4xf32>, tensor<4xf32>) over (tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) stacked (tensor<3x4xf32>) {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>, %x: tensor<4xf32>):
    %y = aten.mul.Tensor %d, %x : tensor<4xf32>
    %z = aten.add.Tensor %y, %d : tensor<4xf32>
    control.yield %c, %y, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: @scan
// CHECK-NEXT: %b = control.scan(%k) over(%xs) : (tensor<4xf32>) over(tensor<3x4xf32>) -> (tensor<4xf32>) stacked() {
// CHECK-NEXT: ^{{.*}}(%d: tensor<4xf32>, %x: tensor<4xf32>):
// CHECK-NEXT:   %y = aten.mul.Tensor %d, %x : tensor<4xf32>
// CHECK-NEXT:   control.yield %y : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %h, %b
