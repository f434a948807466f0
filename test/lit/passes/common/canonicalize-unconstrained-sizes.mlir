// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// A size without an expression is not known to equal another: what may change the shape stays.
// CHECK-LABEL: func.func @view
// CHECK:         %0 = aten.view %x {size = [%m, %n]}
// CHECK:         func.return %0
func.func @view(%x: tensor<?x?xf32>, %m: i64, %n: i64) -> tensor<?x?xf32> {
  %0 = aten.view %x {size = [%m, %n]} : (tensor<?x?xf32>, i64, i64) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @where
// CHECK:         %0 = aten.where.self %c, %y, %y
// CHECK:         func.return %0
func.func @where(%c: tensor<?x?xi1>, %x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = aten.neg %x : tensor<?x?xf32>
  %0 = aten.where.self %c, %y, %y : (tensor<?x?xi1>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @copy
// CHECK:         %0 = aten.copy %x, %y
// CHECK:         func.return %0
func.func @copy(%x: tensor<?x?xf32>, %z: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = aten.neg %z : tensor<?x?xf32>
  %0 = aten.copy %x, %y : tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @expand
// CHECK:         %0 = aten.expand %y {size = [%m, %n]}
// CHECK:         func.return %0
func.func @expand(%x: tensor<?x?xf32>, %m: i64, %n: i64) -> tensor<?x?xf32> {
  %y = aten.neg %x : tensor<?x?xf32>
  %0 = aten.expand %y {size = [%m, %n]} : (tensor<?x?xf32>, i64, i64) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @ones
// CHECK:         %0 = aten.mul.Tensor %y, %o
// CHECK:         func.return %0
program.constant @c : tensor<3x1xf32> = #program.data<f32, [1.0, 1.0, 1.0]>
func.func @ones(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = aten.neg %x : tensor<?x?xf32>
  %o = program.get @c : tensor<3x1xf32>
  %0 = aten.mul.Tensor %y, %o : (tensor<?x?xf32>, tensor<3x1xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// -----

// What keeps the shape of its operand by definition is removed for any sizes.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    %[[Y:.*]] = aten.neg %x
// CHECK-NEXT:    func.return %[[Y]]
func.func @kept(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = aten.neg %x : tensor<?x?xf32>
  %0 = aten.permute %y {dims = [0, 1]} : tensor<?x?xf32>
  %1 = aten.slice.Tensor %0 : tensor<?x?xf32>
  %2 = aten.constant_pad_nd %1 {pad = [0, 0]} : tensor<?x?xf32>
  %one = program.literal 1
  %3 = aten.mul.Tensor %2, %one : (tensor<?x?xf32>, i64) -> tensor<?x?xf32>
  %4 = aten.maximum %3, %3 : tensor<?x?xf32>
  %5 = aten.neg %4 : tensor<?x?xf32>
  %6 = aten.neg %5 : tensor<?x?xf32>
  func.return %6 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @equal
// CHECK-NEXT:    %[[Y:.*]] = aten.neg %x
// CHECK-NEXT:    func.return %[[Y]]
func.func @equal(%x: tensor<?x?xf32, #program.sizes<s0, s1>>, %c: tensor<?x?xi1, #program.sizes<s0, s1>>) -> tensor<?x?xf32, #program.sizes<s0, s1>> {
  %y = aten.neg %x : tensor<?x?xf32, #program.sizes<s0, s1>>
  %0 = aten.where.self %c, %y, %y : (tensor<?x?xi1, #program.sizes<s0, s1>>, tensor<?x?xf32, #program.sizes<s0, s1>>, tensor<?x?xf32, #program.sizes<s0, s1>>) -> tensor<?x?xf32, #program.sizes<s0, s1>>
  func.return %0 : tensor<?x?xf32, #program.sizes<s0, s1>>
}
