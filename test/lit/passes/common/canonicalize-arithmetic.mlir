// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// Literals, constants without dimensions, and masks that are all true.
program.constant @one : tensor<f32> = #program.data<f32, [1.0]>
program.constant @all : tensor<4xi1> = #program.data<i1, [true, true, true, true]>
// CHECK-LABEL: func.func @neutral
func.func @neutral(%x: tensor<4xf32>, %n: tensor<4xi64>, %m: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi64>, tensor<4xi1>) {
  %one = program.literal 1 : i64
  %c = program.get @one : tensor<f32>
  %all = program.get @all : tensor<4xi1>
  %0 = aten.mul.Tensor %one, %x : (i64, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.div.Tensor %0, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = aten.sub.Scalar %1 {other = 0} : tensor<4xf32>
  %3 = aten.pow.Tensor_Scalar %2 {exponent = 1} : tensor<4xf32>
  %4 = aten.add.Scalar %3 {other = -0.0} : tensor<4xf32>
  // CHECK-NEXT: aten.relu %x
  %5 = aten.relu %4 : tensor<4xf32>
  %6 = aten.add.Scalar %n {other = 0} : tensor<4xi64>
  // CHECK-NEXT: aten.neg %n
  %7 = aten.neg %6 : tensor<4xi64>
  %8 = aten.bitwise_and.Tensor %m, %all : tensor<4xi1>
  %9 = aten.where.self %all, %8, %m : tensor<4xi1>
  // CHECK-NEXT: aten.logical_not %m
  %10 = aten.logical_not %9 : tensor<4xi1>
  func.return %5, %7, %10 : tensor<4xf32>, tensor<4xi64>, tensor<4xi1>
}

// -----

// CHECK-LABEL: func.func @repeats
func.func @repeats(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.neg %x : tensor<4xf32>
  %1 = aten.neg %0 : tensor<4xf32>
  // CHECK-NEXT: aten.relu %x
  %2 = aten.relu %1 : tensor<4xf32>
  %3 = aten.relu %2 : tensor<4xf32>
  // CHECK-NEXT: aten.mul.Tensor %x, %x
  %4 = aten.pow.Tensor_Scalar %x {exponent = 2} : tensor<4xf32>
  // CHECK-NEXT: aten.sqrt %x
  %5 = aten.pow.Tensor_Scalar %x {exponent = 0.5} : tensor<4xf32>
  // CHECK-NEXT: aten.rsqrt %x
  %6 = aten.pow.Tensor_Scalar %x {exponent = -0.5} : tensor<4xf32>
  func.return %3, %4, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A literal known after all; a size that the type states.
// CHECK-LABEL: func.func @symbols
func.func @symbols(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  %two = program.literal 2 : i64
  %0 = aten.sym_size.int %x {dim = -1} : (tensor<4x6xf32>) -> i64
  // CHECK-NEXT: aten.view %x {size = [1, 2, 2, 6]}
  %1 = aten.view %x {size = [1, %two, 2, %0]} : (tensor<4x6xf32>, i64, i64) -> tensor<1x2x2x6xf32>
  // CHECK-NEXT: %[[R:.*]] = aten.relu
  %2 = aten.relu %1 : tensor<1x2x2x6xf32>
  // CHECK-NEXT: aten.view %[[R]] {size = [2, 12]}
  %n = program.compute "mul" %0, %two : (i64, i64) -> i64
  %3 = aten.view %2 {size = [%two, %n]} : (tensor<1x2x2x6xf32>, i64, i64) -> tensor<2x12xf32>
  func.return %3 : tensor<2x12xf32>
}

// -----

// Not exact: +0.0 changes -0.0, a conversion is part of the division, a scaled operand is not neutral, 3 is no square.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4xf32>, %n: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  // CHECK-NEXT: aten.add.Scalar
  %0 = aten.add.Scalar %x {other = 0} : tensor<4xf32>
  // CHECK-NEXT: aten.div.Scalar
  %1 = aten.div.Scalar %n {other = 1} : (tensor<4xi64>) -> tensor<4xf32>
  // CHECK-NEXT: aten.sub.Scalar
  %2 = aten.sub.Scalar %x {other = 0.0, alpha = -1} : tensor<4xf32>
  // CHECK-NEXT: aten.pow.Tensor_Scalar
  %3 = aten.pow.Tensor_Scalar %x {exponent = 3} : tensor<4xf32>
  // CHECK-NEXT: aten.logical_not
  // CHECK-NEXT: aten.logical_not
  %4 = aten.logical_not %x : (tensor<4xf32>) -> tensor<4xi1>
  %5 = aten.logical_not %4 : tensor<4xi1>
  func.return %0, %1, %2, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}

// -----

// Choices: by a condition that is known, between two that are the same, by one that is turned around.
// CHECK-LABEL: func.func @choices
func.func @choices(%n: i64, %m: i64, %c: i1) -> (i64, i64, i64, i64, i1) {
  %two = program.literal 2 : i64
  %three = program.literal 3 : i64
  %known = program.compute "lt" %two, %three : (i64, i64) -> i1
  %0 = program.compute "ite" %known, %n, %m : (i1, i64, i64) -> i64
  %1 = program.compute "ite" %c, %m, %m : (i1, i64, i64) -> i64
  // CHECK-NEXT: %[[TURNED:.*]] = program.compute "ite" %c, %m, %n
  %not = program.compute "not" %c : (i1) -> i1
  %2 = program.compute "ite" %not, %n, %m : (i1, i64, i64) -> i64
  // CHECK-NEXT: %[[STAYS:.*]] = program.compute "ite" %c, %n, %m
  %3 = program.compute "ite" %c, %n, %m : (i1, i64, i64) -> i64
  %twice = program.compute "not" %not : (i1) -> i1
  // CHECK-NEXT: func.return %n, %m, %[[TURNED]], %[[STAYS]], %c
  func.return %0, %1, %2, %3, %twice : i64, i64, i64, i64, i1
}

// -----

// Signs that are known, twice the same operand, quotients of integers that are rounded.
// CHECK-LABEL: func.func @signs
func.func @signs(%x: tensor<4xf32>, %n: tensor<4xi64>, %m: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xi1>) {
  // CHECK-NEXT: aten.abs %x
  %0 = aten.neg %x : tensor<4xf32>
  %1 = aten.abs %0 : tensor<4xf32>
  %2 = aten.relu %1 : tensor<4xf32>
  // CHECK-NEXT: %[[S:.*]] = aten.sigmoid %x
  %3 = aten.sigmoid %x : tensor<4xf32>
  %4 = aten.abs %3 : tensor<4xf32>
  // CHECK-NEXT: %[[C:.*]] = aten.cos %x
  %5 = aten.cos %x : tensor<4xf32>
  %6 = aten.maximum %5, %5 : tensor<4xf32>
  // CHECK-NEXT: aten.neg %n
  %one = program.literal 1 : i64
  %7 = aten.div.Tensor_mode %n, %one {rounding_mode = "floor"} : (tensor<4xi64>, i64) -> tensor<4xi64>
  %8 = aten.floor_divide %7, %one : (tensor<4xi64>, i64) -> tensor<4xi64>
  %9 = aten.neg %8 : tensor<4xi64>
  // CHECK-NEXT: aten.logical_not %m
  %10 = aten.bitwise_and.Tensor %m, %m : tensor<4xi1>
  %11 = aten.logical_not %10 : tensor<4xi1>
  // CHECK-NEXT: func.return %{{.*}}, %[[S]], %[[C]]
  func.return %2, %4, %6, %9, %11 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xi1>
}

// -----

// The smallest integer has no absolute value; a quotient of floats is rounded; a difference may be no number; the
// conjunction of numbers is a truth value.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4xf32>, %n: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  %one = program.literal 1 : i64
  // CHECK: aten.abs %n
  %0 = aten.abs %n : tensor<4xi64>
  // CHECK-NEXT: aten.relu
  %1 = aten.relu %0 : tensor<4xi64>
  // CHECK-NEXT: aten.div.Tensor_mode
  %2 = aten.div.Tensor_mode %x, %one {rounding_mode = "trunc"} : (tensor<4xf32>, i64) -> tensor<4xf32>
  // CHECK-NEXT: aten.sub.Tensor
  %3 = aten.sub.Tensor %x, %x : tensor<4xf32>
  // CHECK-NEXT: aten.logical_and
  %4 = aten.logical_and %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  func.return %1, %2, %3, %4 : tensor<4xi64>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}

// -----

// A complex number times 1 is multiplied by its other part, too, 0: of an infinity that is no number.
// CHECK-LABEL: func.func @complex_numbers
func.func @complex_numbers(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // CHECK-NEXT: aten.mul.Scalar
  %0 = aten.mul.Scalar %z {other = 1} : tensor<4xcomplex<f32>>
  func.return %0 : tensor<4xcomplex<f32>>
}
