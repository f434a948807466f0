// RUN: et-opt -p aten-to-edge --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4xf32>, %n: i64) -> (tensor<2x2xf32>, tensor<4xf32>) {
  // CHECK-NEXT: edge.add.Tensor %x, %x {alpha = 2} : tensor<4xf32>
  %0 = aten.add.Tensor %x, %x {alpha = 2} : tensor<4xf32>
  // CHECK-NEXT: edge.view_copy %0 {size = [%n, 2]} : (tensor<4xf32>, i64) -> tensor<2x2xf32>
  %1 = aten.view_copy %0 {size = [%n, 2]} : (tensor<4xf32>, i64) -> tensor<2x2xf32>
  // CHECK-NEXT: edge.full {size = [4], fill_value = 0.0, dtype = f32}
  %2 = aten.full {size = [4], fill_value = 0.0, dtype = f32, layout = "strided", device = "cpu", pin_memory = false} : () -> tensor<4xf32>
  func.return %1, %2 : tensor<2x2xf32>, tensor<4xf32>
}

// -----

// Ops of other dialects stay, as does a device that is not one of ours.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: edge.relu
  %0 = edge.relu %x : tensor<4xf32>
  // CHECK-NEXT: edge.ones {size = [4], device = "cuda:0"}
  %1 = aten.ones {size = [4], device = "cuda:0"} : () -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
