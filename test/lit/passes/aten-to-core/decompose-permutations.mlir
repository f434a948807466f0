// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Operators that reorder elements.

// All are `permute`.
func.func @forward(%x: tensor<2x3x4xf32>, %y: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<4x3x2xf32>) {
  %2 = aten.t %y : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = aten.numpy_T %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  func.return %2, %3 : tensor<3x2xf32>, tensor<4x3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %y {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[PERMUTE2:.*]] = aten.permute %x {dims = [2, 1, 0]} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
// CHECK-NEXT: func.return %[[PERMUTE]], %[[PERMUTE2]]

// -----

// Of matrices.
func.func @forward(%x: tensor<2x3x4xf32>, %y: tensor<2x3xf32>) -> tensor<2x4x3xf32> {
  %0 = aten.mT %x : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %x {dims = [0, 2, 1]} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: func.return %[[PERMUTE]]

// -----

// Vectors have nothing to permute.
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.t %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: func.return %x

// -----

func.func @forward(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %1 = aten.movedim.intlist %x {source = [0, 2], destination = [-1, 0]} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  func.return %1 : tensor<4x3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %x {dims = [2, 1, 0]} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
// CHECK-NEXT: func.return %[[PERMUTE]]

// -----

// Complex matrices are conjugated as well: torch's decomposition does that.
func.func @forward(%x: tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>> {
  %0 = aten.mH %x : (tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  func.return %0 : tensor<3x2xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MH:.*]] = aten.mH %x
// CHECK-NEXT: func.return %[[MH]]

// -----

// What leaves at the end comes in at the start.
func.func @forward(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = aten.roll %x {shifts = [2, -1], dims = [0, 1]} : tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %[[SPLIT_WITH_SIZES2:.*]] = aten.split_with_sizes %x {split_sizes = [2, 2]}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[SPLIT_WITH_SIZES2]], %[[SPLIT_WITH_SIZES]]]
// CHECK-NEXT: %[[SPLIT_WITH_SIZES3:.*]], %[[SPLIT_WITH_SIZES4:.*]] = aten.split_with_sizes %[[CAT]] {split_sizes = [1, 4], dim = 1}
// CHECK-NEXT: %[[CAT2:.*]] = aten.cat [%[[SPLIT_WITH_SIZES4]], %[[SPLIT_WITH_SIZES3]]] {dim = 1}
// CHECK-NEXT: func.return %[[CAT2]]

// -----

// Without dimensions, through all rows.
func.func @forward(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = aten.roll %x {shifts = [3]} : tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [20]}
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %[[SPLIT_WITH_SIZES2:.*]] = aten.split_with_sizes %[[VIEW]] {split_sizes = [17, 3]}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[SPLIT_WITH_SIZES2]], %[[SPLIT_WITH_SIZES]]]
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[CAT]] {size = [4, 5]}
// CHECK-NEXT: func.return %[[VIEW2]]

// -----

// Once around is nothing.
func.func @forward(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = aten.roll %x {shifts = [4], dims = [0]} : tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: func.return %x

// -----

func.func @forward(%x: tensor<8x4x6xf32>) -> tensor<32x2x3xf32> {
  %0 = aten.pixel_unshuffle %x {downscale_factor = 2} : (tensor<8x4x6xf32>) -> tensor<32x2x3xf32>
  func.return %0 : tensor<32x2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [8, 2, 2, 3, 2]}
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %[[VIEW]] {dims = [0, 2, 4, 1, 3]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[PERMUTE]] {size = [32, 2, 3]}
// CHECK-NEXT: func.return %[[VIEW2]]
