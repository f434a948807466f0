// RUN: et-opt -p remove-noops --split-input-file %s | filecheck %s

// With channels-last tensors in the program, a copy to contiguous is one.
// CHECK-LABEL: func.func @back
func.func @back(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  // CHECK-NEXT: aten._to_copy
  %0 = aten._to_copy %x {memory_format = "channels_last"} : tensor<1x2x3x4xf32>
  // CHECK-NEXT: %[[R:.*]] = aten.relu
  %1 = aten.relu %0 : tensor<1x2x3x4xf32>
  %2 = aten.clone %1 : tensor<1x2x3x4xf32>
  // CHECK-NEXT: aten.contiguous %[[R]]
  %3 = aten.contiguous %2 : tensor<1x2x3x4xf32>
  func.return %3 : tensor<1x2x3x4xf32>
}

// -----

// So may be the input.
// CHECK-LABEL: func.func @input
func.func @input(%x: tensor<1x2x3x4xf32> {program.dim_order = array<i64: 0, 2, 3, 1>}) -> tensor<1x2x3x4xf32> {
  // CHECK-NEXT: aten.relu
  %0 = aten.relu %x : tensor<1x2x3x4xf32>
  // CHECK-NEXT: aten.clone
  %1 = aten.clone %0 {memory_format = "contiguous_format"} : tensor<1x2x3x4xf32>
  func.return %1 : tensor<1x2x3x4xf32>
}

// -----

// Elsewhere all is contiguous.
// CHECK-LABEL: func.func @contiguous
func.func @contiguous(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  // CHECK-NEXT: aten.relu
  // CHECK-NEXT: func.return
  %0 = aten.relu %x : tensor<1x2x3x4xf32>
  %1 = aten.contiguous %0 : tensor<1x2x3x4xf32>
  func.return %1 : tensor<1x2x3x4xf32>
}
