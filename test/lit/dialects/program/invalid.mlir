// RUN: et-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{[global_c1] data of 2 x f32 does not fit the type tensor<3xf32>}}
program.parameter @global_c1 : tensor<3xf32> = #program.data<f32, [1.0, 2.0]>

// -----

// expected-error@+1 {{[global_c1] data of 2 x i32 does not fit the type tensor<2xf32>}}
program.constant @global_c1 : tensor<2xf32> = #program.data<i32, [1, 2]>

// -----

func.func @literal_c1() {
  // expected-error@+1 {{[literal_c1] 1 : i64 is not a literal of type f64}}
  %0 = "program.literal"() <{value = 1 : i64}> : () -> f64
  func.return
}

// -----

func.func @range_c1(%n: i64) {
  // expected-error@+1 {{[range_c1] the range 7 to 6 is empty}}
  program.range %n from 7 to 6
  // expected-error@+1 {{[range_c1] has neither a lower nor an upper bound}}
  program.range %n
  func.return
}

// -----

func.func @compute_c1(%n: i64) {
  // expected-error@+1 {{[compute_c1] pow is not a scalar function: add, sub}}
  %0 = program.compute "pow" %n, %n : (i64, i64) -> i64
  func.return
}

// -----

func.func @compute_c2(%n: i64, %f: f64, %x: tensor<i64>) {
  // expected-error@+1 {{[compute_c2] add takes 2 of type i64 or f64}}
  %0 = program.compute "add" %n : (i64) -> i64
  // expected-error@+1 {{[compute_c2] max takes 2 of type i64}}
  %1 = program.compute "max" %n, %f : (i64, f64) -> f64
  // expected-error@+1 {{[compute_c2] neg takes 1 of type i64 or f64}}
  %2 = program.compute "neg" %x : (tensor<i64>) -> i64
  // expected-error@+1 {{[compute_c2] mul of these gives f64, not i64}}
  %3 = program.compute "mul" %n, %f : (i64, f64) -> i64
  %4 = program.compute "lt" %n, %f : (i64, f64) -> i1
  // expected-error@+1 {{[compute_c2] lt takes 2 of type i64 or f64}}
  %5 = program.compute "lt" %4, %4 : (i1, i1) -> i1
  // expected-error@+1 {{[compute_c2] not takes 1 of type i1}}
  %6 = program.compute "not" %n : (i64) -> i1
  // expected-error@+1 {{[compute_c2] ite takes an i1 and two numbers of the same type}}
  %7 = program.compute "ite" %4, %n, %f : (i1, i64, f64) -> f64
  // expected-error@+1 {{[compute_c2] eq takes two numbers or two of type i1}}
  %8 = program.compute "eq" %4, %n : (i1, i64) -> i1
  func.return
}

// -----

func.func @literal_text() {
  // expected-error@+1 {{is not a literal: expected an i64, f64 or i1 number, a string or none}}
  %0 = program.literal 1 : i32
  func.return
}

// -----

// expected-error@+1 {{i7 is not a tensor element type}}
program.constant @element : tensor<1xi7> = #program.data<i7, [1]>

// -----

// expected-error@+1 {{300 does not fit ui8}}
program.constant @range : tensor<1xui8> = #program.data<ui8, [300]>

// -----

// expected-error@+1 {{expected an integer of type i64}}
program.constant @kind : tensor<1xi64> = #program.data<i64, [1.5]>

// -----

// expected-error@+1 {{expected a SHA-256 of 64 lower-case hexadecimal digits}}
program.parameter @hash : tensor<16x8xf32> = #program.data<f32, 128, "big", "beef">

// -----

func.func @overwrite_c1(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{[overwrite_c1] writes tensor<4xf64> into an input of type tensor<4xf32>}}
  "program.overwrite"(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> ()
  func.return
}

// -----

// expected-error@+1 {{[guards_c1] 'y.shape[0] == 1' refers to y, which is not an input}}
func.func @guards_c1() attributes {program.guards = #program.guards<(x), "y.shape[0] == 1">} {
  func.return
}

// -----

// expected-error@+1 {{[guards_c1] not a condition: 'print(x)'}}
func.func @guards_c1() attributes {program.guards = #program.guards<(x), "print(x)">} {
  func.return
}

// -----

// expected-error@+1 {{[roles_c1] 2 results are the loss, expected one}}
func.func @roles_c1() attributes {program.roles = #program.roles<loss, loss>} {
  func.return
}

// -----

// expected-error@+1 {{[roles_c2] the order is outputs, gradients, parameters}}
func.func @roles_c2() attributes {program.roles = #program.roles<gradient "w", loss, parameter "w">} {
  func.return
}

// -----

// expected-error@+1 {{[roles_c3] the gradients are of w, b, the parameters are b, w}}
func.func @roles_c3() attributes {program.roles = #program.roles<loss, gradient "w", gradient "b", parameter "b", parameter "w">} {
  func.return
}

// -----

// expected-error@+1 {{'weight' is not one of output, loss, gradient, parameter}}
func.func @roles() attributes {program.roles = #program.roles<loss, weight "w">} {
  func.return
}
