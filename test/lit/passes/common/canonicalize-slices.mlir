// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<8x4xf32>) {
  %0 = aten.slice.Tensor %x {start = 2, end = 9223372036854775807} : (tensor<8x4xf32>) -> tensor<6x4xf32>
  // CHECK-NEXT: aten.slice.Tensor %x {start = 3, end = 5}
  %1 = aten.slice.Tensor %0 {start = 1, end = -3} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: aten.select.int %x {dim = 0, index = 7}
  %2 = aten.select.int %0 {dim = 0, index = -1} : (tensor<6x4xf32>) -> tensor<4xf32>
  %3 = aten.slice.Tensor %x {dim = 1, start = 0, end = 100} : tensor<8x4xf32>
  // CHECK-NEXT: aten.relu %x
  %4 = aten.relu %3 : tensor<8x4xf32>
  func.return %1, %2, %4 : tensor<2x4xf32>, tensor<4xf32>, tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @splits
func.func @splits(%x: tensor<6x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  // CHECK-NEXT: aten.slice.Tensor %x {start = 2, end = 4}
  %0, %1, %2 = aten.split.Tensor %x {split_size = 2} : (tensor<6x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK-NEXT: aten.select.int %x {dim = 0, index = 1}
  %3, %4, %5, %6, %7, %8 = aten.unbind.int %x : (tensor<6x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: aten.relu %x
  // CHECK-NEXT: aten.neg %x
  %9 = aten.split_with_sizes %x {split_sizes = [6]} : tensor<6x4xf32>
  %10 = aten.relu %9 : tensor<6x4xf32>
  %11, %12 = aten.split.Tensor %x {split_size = 4} : (tensor<6x4xf32>) -> (tensor<4x4xf32>, tensor<2x4xf32>)
  %13 = aten.cat [%11, %12] : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
  %14 = aten.neg %13 : tensor<6x4xf32>
  func.return %1, %4, %10, %14 : tensor<2x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// CHECK-LABEL: func.func @concatenations
func.func @concatenations(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> (tensor<7x4xf32>, tensor<2x4xf32>) {
  %0 = aten.cat [%x, %y] : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  // CHECK-NEXT: aten.cat [%x, %y, %x]
  %1 = aten.cat [%0, %x] : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<7x4xf32>
  // CHECK-NEXT: aten.slice.Tensor %y {start = 1, end = 3}
  %2 = aten.slice.Tensor %1 {start = 3, end = 5} : (tensor<7x4xf32>) -> tensor<2x4xf32>
  func.return %1, %2 : tensor<7x4xf32>, tensor<2x4xf32>
}

// -----

// Steps, unknown bounds, slices across a boundary, several used slices.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<8x4xf32>, %n: i64) -> (tensor<4x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: aten.slice.Tensor
  %0 = aten.slice.Tensor %x {start = 0, end = 8, step = 2} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: aten.slice.Tensor
  %1 = aten.slice.Tensor %x {start = 0, end = %n} : (tensor<8x4xf32>, i64) -> tensor<?x4xf32>
  // CHECK-NEXT: aten.cat
  %2 = aten.cat [%0, %0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: aten.slice.Tensor
  %3 = aten.slice.Tensor %2 {start = 3, end = 5} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: aten.split.Tensor
  %4, %5 = aten.split.Tensor %x {split_size = 4} : (tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  func.return %0, %1, %3, %4, %5 : tensor<4x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
