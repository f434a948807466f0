// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

func.func @forward(%x: tensor<4xf32>, %p: tensor<i1>, %z: tensor<i64>, %xs: tensor<3x4xf32>, %n: tensor<?x4xf32>) {
  %r, %k = control.cond %p : tensor<i1> -> (tensor<4xf32>, i64) {
    %a = aten.relu %x : tensor<4xf32>
    %one = program.literal 1 : i64
    control.yield %a, %one : tensor<4xf32>, i64
  } else {
    %two = program.literal 2 : i64
    control.yield %x, %two : tensor<4xf32>, i64
  }
  %i, %w = control.while (%z, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  ^bb0(%i0: tensor<i64>, %a: tensor<4xf32>):
    %c = aten.lt.Scalar %i0 {other = 5} : (tensor<i64>) -> tensor<i1>
    control.yield %c : tensor<i1>
  } do {
  ^bb0(%i0: tensor<i64>, %a: tensor<4xf32>):
    %j = aten.add.Scalar %i0 {other = 1} : tensor<i64>
    %b = aten.relu %a : tensor<4xf32>
    control.yield %j, %b : tensor<i64>, tensor<4xf32>
  }
  %m = control.map over (%n) : (tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%q: tensor<4xf32>):
    %y = aten.relu %q : tensor<4xf32>
    control.yield %y : tensor<4xf32>
  }
  %h, %s = control.scan (%x) over (%xs) : (tensor<4xf32>) over (tensor<3x4xf32>) -> (tensor<4xf32>) stacked (tensor<3x4xf32>) {
  ^bb0(%t: tensor<4xf32>, %q: tensor<4xf32>):
    %y = aten.add.Tensor %t, %q : tensor<4xf32>
    control.yield %y, %t : tensor<4xf32>, tensor<4xf32>
  }
  control.cond %p : tensor<i1> -> () {
    control.yield
  } else {
    control.yield
  }
  func.return
}

// CHECK: %r, %k = control.cond %p : tensor<i1> -> (tensor<4xf32>, i64) {
// CHECK: control.yield %a, %one : tensor<4xf32>, i64
// CHECK-NEXT: } else {
// CHECK: control.yield %x, %two : tensor<4xf32>, i64
// CHECK: %i, %w = control.while(%z, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
// CHECK-NEXT: ^{{.*}}(%i0: tensor<i64>, %a{{.*}}: tensor<4xf32>):
// CHECK: control.yield %c : tensor<i1>
// CHECK-NEXT: } do {
// CHECK: control.yield %j, %b : tensor<i64>, tensor<4xf32>
// CHECK: %m = control.map over(%n) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
// CHECK: %h, %s = control.scan(%x) over(%xs) : (tensor<4xf32>) over(tensor<3x4xf32>) -> (tensor<4xf32>) stacked(tensor<3x4xf32>) {
// CHECK: control.cond %p : tensor<i1> -> () {
// CHECK: control.yield
