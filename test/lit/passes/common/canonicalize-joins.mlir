// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// All of a tensor; parts that nothing else needs; beside what is of another tensor.
// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<4x6xf32>, %y: tensor<1x6xf32>) -> (tensor<4x6xf32>, tensor<4x4xf32>, tensor<5x6xf32>) {
  %0 = aten.slice.Tensor %x {end = 2} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %1 = aten.slice.Tensor %x {start = 2} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: aten.relu %x
  %2 = aten.cat [%0, %1] : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %3 = aten.relu %2 : tensor<4x6xf32>
  // CHECK-NEXT: aten.slice.Tensor %x {dim = 1, start = 1, end = 5} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %4 = aten.slice.Tensor %x {dim = 1, start = 1, end = 3} : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %5 = aten.slice.Tensor %x {dim = 1, start = 3, end = -1} : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %6 = aten.cat [%4, %5] {dim = 1} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: aten.cat [%x, %y]
  %7 = aten.cat [%0, %1, %y] : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<1x6xf32>) -> tensor<5x6xf32>
  func.return %3, %6, %7 : tensor<4x6xf32>, tensor<4x4xf32>, tensor<5x6xf32>
}

// -----

// Results of a split; selections that got their dimension back.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4x6xf32>) -> (tensor<4x4xf32>, tensor<4x6xf32>) {
  // CHECK-NEXT: aten.slice.Tensor %x {dim = 1, start = 2, end = 6} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %0, %1, %2 = aten.split.Tensor %x {split_size = 2, dim = 1} : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
  %3 = aten.cat [%1, %2] {dim = 1} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %4 = aten.neg %x : tensor<4x6xf32>
  // CHECK-NEXT: aten.neg %x
  // CHECK-NEXT: func.return
  %5, %6, %7, %8 = aten.unbind.int %4 : (tensor<4x6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  %9 = aten.unsqueeze %5 {dim = 0} : (tensor<6xf32>) -> tensor<1x6xf32>
  %10 = aten.unsqueeze %6 {dim = 0} : (tensor<6xf32>) -> tensor<1x6xf32>
  %11 = aten.view %7 {size = [1, 6]} : (tensor<6xf32>) -> tensor<1x6xf32>
  %12 = aten.view %8 {size = [1, 6]} : (tensor<6xf32>) -> tensor<1x6xf32>
  %13 = aten.cat [%9, %10, %11, %12] : (tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  func.return %3, %13 : tensor<4x4xf32>, tensor<4x6xf32>
}

// -----

// Another order, another dimension, a space between; a part that is needed as it is; one of three that are used.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>, tensor<1x4xf32>, tensor<3x4xf32>) {
  %0 = aten.slice.Tensor %x {end = 2} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = aten.slice.Tensor %x {start = 2} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  // CHECK: aten.cat [%{{.*}}, %{{.*}}] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %2 = aten.cat [%1, %0] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %3 = aten.slice.Tensor %x {dim = 1, end = 2} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %4 = aten.slice.Tensor %x {dim = 1, start = 2} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  // CHECK: aten.cat [%{{.*}}, %{{.*}}] : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %5 = aten.cat [%3, %4] : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %6 = aten.slice.Tensor %x {end = 1} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %7 = aten.slice.Tensor %x {start = 2, end = 3} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  // CHECK: aten.cat [%{{.*}}, %{{.*}}] : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %8 = aten.cat [%6, %7] : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %9 = aten.slice.Tensor %x {start = 1, end = 3} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  // CHECK: aten.cat [%{{.*}}, %{{.*}}] : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %10 = aten.cat [%6, %9] : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  func.return %2, %5, %8, %6, %10 : tensor<4x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>, tensor<1x4xf32>, tensor<3x4xf32>
}
