// RUN: et-opt -p prune-empty-tensors --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @prunes
func.func @prunes(%e: tensor<0xf32>, %x: tensor<2x3xf32>, %y: tensor<0x3xf32>) -> (tensor<4x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: aten.cat [%x, %x]
  %0 = aten.cat [%e, %x, %y, %x] : (tensor<0xf32>, tensor<2x3xf32>, tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: aten.relu %x
  %1 = aten.cat [%x, %y] : (tensor<2x3xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  %2 = aten.relu %1 : tensor<2x3xf32>
  func.return %0, %2 : tensor<4x3xf32>, tensor<2x3xf32>
}

// -----

// All are empty, or one that is empty gives the result its type.
// CHECK-LABEL: func.func @stays
func.func @stays(%e: tensor<0xf32>, %n: tensor<2xi64>) -> (tensor<0xf32>, tensor<2xf32>) {
  // CHECK-NEXT: aten.cat [%e, %e]
  %0 = aten.cat [%e, %e] : tensor<0xf32>
  // CHECK-NEXT: aten.cat [%e, %n]
  %1 = aten.cat [%e, %n] : (tensor<0xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %0, %1 : tensor<0xf32>, tensor<2xf32>
}

// -----

// No elements, but rows.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<1x0xf32>, %y: tensor<?x?xf32>) -> tensor<?x0xf32> {
  // CHECK-NEXT: aten.cat [%x, %y]
  %0 = aten.cat [%x, %y] : (tensor<1x0xf32>, tensor<?x?xf32>) -> tensor<?x0xf32>
  func.return %0 : tensor<?x0xf32>
}
