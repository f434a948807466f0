// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Views and broadcasts under other names.

// What has a view's sizes.
func.func @forward(%x: tensor<2x6xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %2 = aten.view_as %x, %y : (tensor<2x6xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = aten.reshape_as %x, %y : (tensor<2x6xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [3, 4]} : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %x {size = [3, 4]} : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[VIEW]], %[[VIEW2]]

// -----

// Broadcasts.
func.func @forward(%x: tensor<3x1xf32>, %tensors0: tensor<3x1xf32>, %tensors1: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = aten.broadcast_to %x {size = [2, 3, 4]} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %x {size = [2, 3, 4]} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return %[[EXPAND]]

// -----

func.func @forward(%tensors0: tensor<2xf32>, %tensors1: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0, %1 = aten.meshgrid [%tensors0, %tensors1] : (tensor<2xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %tensors0 {size = [2, 1]}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[VIEW]] {size = [2, 3]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %tensors1 {size = [1, 3]}
// CHECK-NEXT: %[[EXPAND2:.*]] = aten.expand %[[VIEW2]] {size = [2, 3]}
// CHECK-NEXT: func.return %[[EXPAND]], %[[EXPAND2]]

// -----

// With `xy`, the first two tensors change places.
func.func @forward(%tensors0: tensor<2xf32>, %tensors1: tensor<3xf32>, %tensors2: tensor<4xf32>) -> (tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>) {
  %0, %1, %2 = aten.meshgrid.indexing [%tensors0, %tensors1, %tensors2] {indexing = "xy"} : (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>)
  func.return %0, %1, %2 : tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %tensors0 {size = [1, 2, 1]}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[VIEW]] {size = [3, 2, 4]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %tensors1 {size = [3, 1, 1]}
// CHECK-NEXT: %[[EXPAND2:.*]] = aten.expand %[[VIEW2]] {size = [3, 2, 4]}
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %tensors2 {size = [1, 1, 4]}
// CHECK-NEXT: %[[EXPAND3:.*]] = aten.expand %[[VIEW3]] {size = [3, 2, 4]}
// CHECK-NEXT: func.return %[[EXPAND]], %[[EXPAND2]], %[[EXPAND3]]

// -----

func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %0 = aten.repeat_interleave.self_int %x {repeats = 2, dim = 1} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  func.return %0 : tensor<2x6xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [2, 3, 1]}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[VIEW]] {size = [2, 3, 2]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[EXPAND]] {size = [2, 6]}
// CHECK-NEXT: func.return %[[VIEW2]]

// -----

func.func @forward(%x: tensor<2x3xf32>) -> tensor<12xf32> {
  %0 = aten.repeat_interleave.self_int %x {repeats = 2} : (tensor<2x3xf32>) -> tensor<12xf32>
  func.return %0 : tensor<12xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [6]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[VIEW]] {size = [6, 1]}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[VIEW2]] {size = [6, 2]}
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[EXPAND]] {size = [12]}
// CHECK-NEXT: func.return %[[VIEW3]]
