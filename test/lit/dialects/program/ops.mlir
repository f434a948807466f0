// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// Small data stands in the text, in digits that give it back; names may be any text.
// CHECK:      program.parameter @w : tensor<2x2xf32> = #program.data<f32, [1.0, -2.5, 0.1, 1.0e-45]>
// CHECK-NEXT: program.parameter @"fc.0/weight" : tensor<3xbf16> = #program.data<bf16, [1.0, 0.5, 0.100098]>
// CHECK-NEXT: program.parameter @specials : tensor<3xf32> = #program.data<f32, [0x7f800000, 0xff800000, 0x7fc00000]>
// CHECK-NEXT: program.constant @flags : tensor<2xi1> = #program.data<i1, [true, false]>
// CHECK-NEXT: program.constant @bytes : tensor<3xui8> = #program.data<ui8, [0, 128, 255]>
// CHECK-NEXT: program.constant @signed : tensor<2xi8> = #program.data<i8, [-128, 127]>
// CHECK-NEXT: program.constant @scalar : tensor<i64> = #program.data<i64, [-3]>
// CHECK-NEXT: program.constant @empty : tensor<0xf64> = #program.data<f64, []>
// CHECK-NEXT: program.constant @complex : tensor<1xcomplex<f32>> = #program.data<complex<f32>, [1.0, -1.0]>
program.parameter @w : tensor<2x2xf32> = #program.data<f32, [1.0, -2.5, 0.1, 1.0e-45]>
program.parameter @"fc.0/weight" : tensor<3xbf16> = #program.data<bf16, [1.0, 0.5, 0.100098]>
program.parameter @specials : tensor<3xf32> = #program.data<f32, [0x7f800000, 0xff800000, 0x7fc00000]>
program.constant @flags : tensor<2xi1> = #program.data<i1, [true, false]>
program.constant @bytes : tensor<3xui8> = #program.data<ui8, [0, 128, 255]>
program.constant @signed : tensor<2xi8> = #program.data<i8, [-128, 127]>
program.constant @scalar : tensor<i64> = #program.data<i64, [-3]>
program.constant @empty : tensor<0xf64> = #program.data<f64, []>
program.constant @complex : tensor<1xcomplex<f32>> = #program.data<complex<f32>, [1.0, -1.0]>

// Large data is named by its hash.
// CHECK-NEXT: program.parameter @big : tensor<16x8xf32> = #program.data<f32, 128, "big", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef">
program.parameter @big : tensor<16x8xf32> = #program.data<f32, 128, "big", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef">

// State may have a value to begin with, or start as zeros.
// CHECK-NEXT: program.buffer @table : tensor<1xi64> = #program.data<i64, [7]>
// CHECK-NEXT: program.buffer mutable @count : tensor<1xi64> = #program.data<i64, [0]>
// CHECK-NEXT: program.buffer mutable @cache : tensor<1x8xf32>
program.buffer @table : tensor<1xi64> = #program.data<i64, [7]>
program.buffer mutable @count : tensor<1xi64> = #program.data<i64, [0]>
program.buffer mutable @cache : tensor<1x8xf32>

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<1x8xf32>, %n: i64, %s: !program.string) -> (i64, f64, i1, !program.string, none) {
  // CHECK-NEXT: program.get @"fc.0/weight" : tensor<3xbf16>
  %w = program.get @"fc.0/weight" : tensor<3xbf16>
  // CHECK-NEXT: program.load @cache : tensor<1x8xf32>
  %c = program.load @cache : tensor<1x8xf32>
  // CHECK-NEXT: program.store @cache, %x : tensor<1x8xf32>
  program.store @cache, %x : tensor<1x8xf32>
  // CHECK-NEXT: program.literal -4 : i64
  // CHECK-NEXT: program.literal 2.500000e+00 : f64
  // CHECK-NEXT: program.literal true
  // CHECK-NEXT: program.literal "text"
  // CHECK-NEXT: program.literal none
  %0 = program.literal -4 : i64
  %1 = program.literal 2.500000e+00 : f64
  %2 = program.literal true
  %3 = program.literal "text"
  %4 = program.literal none
  // CHECK-NEXT: program.compute "mul" %n, %0 : (i64, i64) -> i64
  // CHECK-NEXT: program.compute "truediv" %n, %1 : (i64, f64) -> f64
  // CHECK-NEXT: program.compute "neg" %n : (i64) -> i64
  // CHECK-NEXT: program.compute "lt" %n, %1 : (i64, f64) -> i1
  // CHECK-NEXT: program.compute "not" %{{.*}} : (i1) -> i1
  // CHECK-NEXT: program.compute "ite" %2, %n, %0 : (i1, i64, i64) -> i64
  %5 = program.compute "mul" %n, %0 : (i64, i64) -> i64
  %6 = program.compute "truediv" %n, %1 : (i64, f64) -> f64
  %7 = program.compute "neg" %n : (i64) -> i64
  %8 = program.compute "lt" %n, %1 : (i64, f64) -> i1
  %9 = program.compute "not" %8 : (i1) -> i1
  %10 = program.compute "ite" %2, %n, %0 : (i1, i64, i64) -> i64
  // CHECK-NEXT: program.range %n from 0 to 6
  // CHECK-NEXT: program.range %n from -1
  // CHECK-NEXT: program.range %n to 6
  program.range %n from 0 to 6
  program.range %n from -1
  program.range %n to 6
  func.return %0, %1, %2, %3, %4 : i64, f64, i1, !program.string, none
}

// CHECK-LABEL: func.func @overwrite
func.func @overwrite(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // CHECK-NEXT: program.overwrite %x, %y : tensor<4xf32>
  program.overwrite %x, %y : tensor<4xf32>
  func.return
}

// CHECK: func.func @guards(%x: tensor<?x4xf32>, %y: tensor<?xf32>) attributes {program.guards = #program.guards<(x, y), "2 <= x.shape[0] <= 64", "y.shape[0] % 2 == 0">} {
func.func @guards(%x: tensor<?x4xf32>, %y: tensor<?xf32>) attributes {program.guards = #program.guards<(x, y), "2 <= x.shape[0] <= 64", "y.shape[0] % 2 == 0">} {
  func.return
}

// The roles of a training method's results.
// CHECK:      func.func @trained() -> (tensor<f32>, tensor<2xf32>, tensor<2xf32>) attributes {program.roles = #program.roles<loss, gradient "fc.bias", parameter "fc.bias">} {
program.buffer mutable @fc.bias : tensor<2xf32>
func.func @trained() -> (tensor<f32>, tensor<2xf32>, tensor<2xf32>) attributes {program.roles = #program.roles<loss, gradient "fc.bias", parameter "fc.bias">} {
  %0 = program.load @fc.bias : tensor<2xf32>
  %1 = program.get @loss : tensor<f32>
  func.return %1, %0, %0 : tensor<f32>, tensor<2xf32>, tensor<2xf32>
}
program.constant @loss : tensor<f32> = #program.data<f32, [0.0]>
