// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// A copy into a tensor of the same shape is what is copied, and the tensor is not read.
// CHECK-LABEL: @slice
// CHECK-NEXT:  aten.slice_scatter %k, %x {dim = 1, start = 2, end = 3}
// CHECK-NEXT:  func.return
func.func @slice(%k: tensor<2x8x4xf32>, %x: tensor<2x1x4xf32>) -> tensor<2x8x4xf32> {
  %0 = aten.slice.Tensor %k {dim = 1, start = 2, end = 3} : (tensor<2x8x4xf32>) -> tensor<2x1x4xf32>
  %1 = aten.copy %0, %x : tensor<2x1x4xf32>
  %2 = aten.slice_scatter %k, %1 {dim = 1, start = 2, end = 3} : (tensor<2x8x4xf32>, tensor<2x1x4xf32>) -> tensor<2x8x4xf32>
  func.return %2 : tensor<2x8x4xf32>
}

// -----

// One of another type and shape is converted and expanded.
// CHECK-LABEL: @converted
// CHECK-NEXT:  %[[X:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT:  aten.expand %[[X]] {size = [2, 4]
func.func @converted(%k: tensor<2x4xf32>, %x: tensor<4xf64>) -> tensor<2x4xf32> {
  %0 = aten.copy %k, %x : (tensor<2x4xf32>, tensor<4xf64>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

// Does not fire: which sizes are expanded is not known.
// CHECK-LABEL: @unknown
// CHECK-NEXT:  aten.copy %k, %x
func.func @unknown(%k: tensor<2x?xf32>, %x: tensor<?xf32>) -> tensor<2x?xf32> {
  %0 = aten.copy %k, %x : (tensor<2x?xf32>, tensor<?xf32>) -> tensor<2x?xf32>
  func.return %0 : tensor<2x?xf32>
}

// -----

// One index for a whole slice puts slices.
// CHECK-LABEL: @scatter
// CHECK-NEXT:  %[[AT:.*]] = aten.view %at {size = [1]} : (tensor<1x1x1xi64>) -> tensor<1xi64>
// CHECK-NEXT:  aten.index_put %k, [none, %[[AT]]], %x
func.func @scatter(%k: tensor<2x8x4xf32>, %x: tensor<2x1x4xf32>, %at: tensor<1x1x1xi64>) -> tensor<2x8x4xf32> {
  %0 = aten.expand %at {size = [2, 1, 4]} : (tensor<1x1x1xi64>) -> tensor<2x1x4xi64>
  %1 = aten.scatter.src %k, %0, %x {dim = 1} : (tensor<2x8x4xf32>, tensor<2x1x4xi64>, tensor<2x1x4xf32>) -> tensor<2x8x4xf32>
  func.return %1 : tensor<2x8x4xf32>
}

// -----

// Does not fire: an index for each row, and an index that is shorter than the tensor.
// CHECK-LABEL: @elements
// CHECK:       aten.scatter.src
// CHECK:       aten.scatter.src
func.func @elements(%k: tensor<2x8x4xf32>, %x: tensor<2x1x4xf32>, %y: tensor<2x1x3xf32>, %at: tensor<2x1x1xi64>, %b: tensor<1x1x1xi64>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
  %0 = aten.expand %at {size = [2, 1, 4]} : (tensor<2x1x1xi64>) -> tensor<2x1x4xi64>
  %1 = aten.scatter.src %k, %0, %x {dim = 1} : (tensor<2x8x4xf32>, tensor<2x1x4xi64>, tensor<2x1x4xf32>) -> tensor<2x8x4xf32>
  %2 = aten.expand %b {size = [2, 1, 3]} : (tensor<1x1x1xi64>) -> tensor<2x1x3xi64>
  %3 = aten.scatter.src %k, %2, %y {dim = 1} : (tensor<2x8x4xf32>, tensor<2x1x3xi64>, tensor<2x1x3xf32>) -> tensor<2x8x4xf32>
  func.return %1, %3 : tensor<2x8x4xf32>, tensor<2x8x4xf32>
}
