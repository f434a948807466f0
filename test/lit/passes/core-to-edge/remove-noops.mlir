// RUN: et-opt -p remove-noops --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @drops
// CHECK-NEXT: aten.relu %x
// CHECK-NEXT: func.return
func.func @drops(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.dropout %x {p = 0.1, train = false} : tensor<4xf32>
  %1 = aten._to_copy %0 {dtype = f32} : tensor<4xf32>
  %2 = aten.clone %1 {memory_format = "contiguous_format"} : tensor<4xf32>
  %3 = aten.alias %2 : tensor<4xf32>
  %4, %mask = aten.native_dropout %3 {p = 0.1, train = false} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>)
  %5 = aten.relu %4 : tensor<4xf32>
  %6 = aten.clone %5 : tensor<4xf32>
  func.return %6 : tensor<4xf32>
}

// -----

// Conversions, layouts, dropout in training stay.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf16> {
  // CHECK-NEXT: aten.dropout
  %0 = aten.dropout %x {p = 0.1, train = true} : tensor<1x2x3x4xf32>
  // CHECK-NEXT: aten.clone {{.*}} {memory_format = "channels_last"}
  %1 = aten.clone %0 {memory_format = "channels_last"} : tensor<1x2x3x4xf32>
  // CHECK-NEXT: aten._to_copy {{.*}} {dtype = f16}
  %2 = aten._to_copy %1 {dtype = f16} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf16>
  func.return %2 : tensor<1x2x3x4xf16>
}

// -----

// An output needs memory of its own: copies of inputs, constants and state stay.
// CHECK-LABEL: func.func @outputs
program.buffer mutable @state : tensor<4xf32>
func.func @outputs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = program.load @state : tensor<4xf32>
  // CHECK: aten.clone %s
  %0 = aten.clone %s : tensor<4xf32>
  // CHECK-NEXT: aten.clone %x
  %1 = aten.clone %x : tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
