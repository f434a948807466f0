// RUN: et-opt -p views-to-copies --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<2x3xf32>, %n: i64) -> tensor<?xf32> {
  // CHECK-NEXT: aten.permute_copy %x {dims = [1, 0]}
  %0 = aten.permute %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: aten.slice_copy.Tensor %0 {start = 1}
  %1 = aten.slice.Tensor %0 {start = 1} : (tensor<3x2xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: aten.split_copy.Tensor
  %2, %3 = aten.split.Tensor %1 {split_size = 1} : (tensor<2x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>)
  // CHECK-NEXT: aten.view_copy %2 {size = [2]}
  %4 = aten._unsafe_view %2 {size = [2]} : (tensor<1x2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: aten.view_copy %4 {size = [%n]}
  %5 = aten.view %4 {size = [%n]} : (tensor<2xf32>, i64) -> tensor<?xf32>
  func.return %5 : tensor<?xf32>
}

// -----

// Operators that compute, and copies, stay.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // CHECK-NEXT: aten.relu
  %0 = aten.relu %x : tensor<2x3xf32>
  // CHECK-NEXT: aten.permute_copy
  %1 = aten.permute_copy %0 {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}
