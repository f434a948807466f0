// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Splits and concatenations.

// A negative start counts from the end.
func.func @forward(%x: tensor<5x3xf32>) -> (tensor<3x3xf32>, tensor<2x3xf32>) {
  %0 = aten.narrow %x {dim = 0, start = 1, length = 3} : (tensor<5x3xf32>) -> tensor<3x3xf32>
  %1 = aten.narrow %x {dim = 0, start = -2, length = 2} : (tensor<5x3xf32>) -> tensor<2x3xf32>
  func.return %0, %1 : tensor<3x3xf32>, tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SLICE:.*]] = aten.slice.Tensor %x {start = 1, end = 4}
// CHECK-NEXT: %[[SLICE2:.*]] = aten.slice.Tensor %x {start = 3, end = 5}
// CHECK-NEXT: func.return %[[SLICE]], %[[SLICE2]]

// -----

// All splits of a tensor are one operator.
func.func @forward(%x: tensor<7x3xf32>) -> (tensor<2x3xf32>, tensor<5x3xf32>, tensor<4x3xf32>, tensor<3x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) {
  %0, %1 = aten.split.sizes %x {split_size = [2, 5]} : (tensor<7x3xf32>) -> (tensor<2x3xf32>, tensor<5x3xf32>)
  %2, %3 = aten.tensor_split.sections %x {sections = 2} : (tensor<7x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>)
  %4, %5, %6 = aten.tensor_split.indices %x {indices = [1, 4]} : (tensor<7x3xf32>) -> (tensor<1x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  func.return %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<5x3xf32>, tensor<4x3xf32>, tensor<3x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %[[SPLIT_WITH_SIZES2:.*]] = aten.split_with_sizes %x {split_sizes = [2, 5]}
// CHECK-NEXT: %[[SPLIT_WITH_SIZES3:.*]], %[[SPLIT_WITH_SIZES4:.*]] = aten.split_with_sizes %x {split_sizes = [4, 3]}
// CHECK-NEXT: %[[SPLIT_WITH_SIZES5:.*]], %[[SPLIT_WITH_SIZES6:.*]], %[[SPLIT_WITH_SIZES7:.*]] = aten.split_with_sizes %x {split_sizes = [1, 3, 3]}
// CHECK-NEXT: func.return %[[SPLIT_WITH_SIZES]], %[[SPLIT_WITH_SIZES2]], %[[SPLIT_WITH_SIZES3]], %[[SPLIT_WITH_SIZES4]], %[[SPLIT_WITH_SIZES5]], %[[SPLIT_WITH_SIZES6]], %[[SPLIT_WITH_SIZES7]]

// -----

// Decreasing indices give slices that do not partition the tensor.
func.func @forward(%x: tensor<7x3xf32>) -> (tensor<4x3xf32>, tensor<0x3xf32>, tensor<6x3xf32>) {
  %0, %1, %2 = aten.tensor_split.indices %x {indices = [4, 1]} : (tensor<7x3xf32>) -> (tensor<4x3xf32>, tensor<0x3xf32>, tensor<6x3xf32>)
  func.return %0, %1, %2 : tensor<4x3xf32>, tensor<0x3xf32>, tensor<6x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SLICE:.*]] = aten.slice.Tensor %x {start = 0, end = 4}
// CHECK-NEXT: %[[SLICE2:.*]] = aten.slice.Tensor %x {start = 4, end = 1}
// CHECK-NEXT: %[[SLICE3:.*]] = aten.slice.Tensor %x {start = 1}
// CHECK-NEXT: func.return %[[SLICE]], %[[SLICE2]], %[[SLICE3]]

// -----

// Horizontal is the second dimension, but for vectors.
func.func @forward(%x: tensor<6xf32>, %y: tensor<4x6xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0, %1 = aten.hsplit.int %x {sections = 2} : (tensor<6xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %2, %3 = aten.hsplit.int %y {sections = 2} : (tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %[[SPLIT_WITH_SIZES2:.*]] = aten.split_with_sizes %x {split_sizes = [3, 3]}
// CHECK-NEXT: %[[SPLIT_WITH_SIZES3:.*]], %[[SPLIT_WITH_SIZES4:.*]] = aten.split_with_sizes %y {split_sizes = [3, 3], dim = 1}
// CHECK-NEXT: func.return %[[SPLIT_WITH_SIZES]], %[[SPLIT_WITH_SIZES2]], %[[SPLIT_WITH_SIZES3]], %[[SPLIT_WITH_SIZES4]]

// -----

func.func @forward(%x: tensor<4x6xf32>, %y: tensor<2x3x4xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) {
  %0, %1 = aten.vsplit.int %x {sections = 2} : (tensor<4x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>)
  %2, %3 = aten.dsplit.int %y {sections = 2} : (tensor<2x3x4xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>)
  func.return %0, %1, %2, %3 : tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %[[SPLIT_WITH_SIZES2:.*]] = aten.split_with_sizes %x {split_sizes = [2, 2]}
// CHECK-NEXT: %[[SPLIT_WITH_SIZES3:.*]], %[[SPLIT_WITH_SIZES4:.*]] = aten.split_with_sizes %y {split_sizes = [2, 2], dim = 2}
// CHECK-NEXT: func.return %[[SPLIT_WITH_SIZES]], %[[SPLIT_WITH_SIZES2]], %[[SPLIT_WITH_SIZES3]], %[[SPLIT_WITH_SIZES4]]

// -----

func.func @forward(%x: tensor<3x2xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1 = aten.unbind.int %x {dim = 1} : (tensor<3x2xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SELECT:.*]] = aten.select.int %x {dim = 1, index = 0}
// CHECK-NEXT: %[[SELECT2:.*]] = aten.select.int %x {dim = 1, index = 1}
// CHECK-NEXT: func.return %[[SELECT]], %[[SELECT2]]
