// RUN: et-opt -p canonicalize --split-input-file %s | filecheck %s

// All that keeps the order of elements is one view.
// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  %0 = aten.unsqueeze %x {dim = 0} : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
  %1 = aten.permute %0 {dims = [1, 0, 2]} : (tensor<1x4x6xf32>) -> tensor<4x1x6xf32>
  %2 = aten.select.int %1 {dim = 1, index = 0} : (tensor<4x1x6xf32>) -> tensor<4x6xf32>
  %3 = aten.squeeze.dim %2 {dim = 0} : tensor<4x6xf32>
  %4 = aten.expand %3 {size = [1, 4, 6]} : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
  // CHECK-NEXT: aten.view %x {size = [2, 12]}
  %5 = aten.view %4 {size = [2, 12]} : (tensor<1x4x6xf32>) -> tensor<2x12xf32>
  // CHECK-NEXT: func.return
  func.return %5 : tensor<2x12xf32>
}

// -----

// In the dialect and form that the ops have; an unknown size is -1.
// CHECK-LABEL: func.func @forms
func.func @forms(%x: tensor<?x6xf32>, %y: tensor<?x?xf32>) -> (tensor<?x6x1xf32>, tensor<?x?x1xf32>) {
  // CHECK-NEXT: edge.view_copy %x {size = [-1, 6, 1]}
  %0 = edge.unsqueeze_copy %x {dim = 2} : (tensor<?x6xf32>) -> tensor<?x6x1xf32>
  // Two unknown sizes cannot be said.
  // CHECK-NEXT: edge.unsqueeze_copy %y
  %1 = edge.unsqueeze_copy %y {dim = 2} : (tensor<?x?xf32>) -> tensor<?x?x1xf32>
  func.return %0, %1 : tensor<?x6x1xf32>, tensor<?x?x1xf32>
}

// -----

// Permutations compose, also through dimensions of size 1.
// CHECK-LABEL: func.func @permutations
func.func @permutations(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<1x3x2x4xf32>) {
  %0 = aten.transpose.int %x {dim0 = -1, dim1 = 0} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %1 = aten.permute %0 {dims = [2, 1, 0]} : (tensor<4x3x2xf32>) -> tensor<2x3x4xf32>
  %2 = aten.relu %1 : tensor<2x3x4xf32>
  // CHECK-NEXT: %[[R:.*]] = aten.relu %x
  // CHECK-NEXT: %[[P:.*]] = aten.permute %x {dims = [2, 0, 1]}
  %3 = aten.permute %0 {dims = [0, 2, 1]} : (tensor<4x3x2xf32>) -> tensor<4x2x3xf32>
  %4 = aten.unsqueeze %3 {dim = 1} : (tensor<4x2x3xf32>) -> tensor<4x1x2x3xf32>
  // CHECK-NEXT: %[[Q:.*]] = aten.permute %x {dims = [1, 0, 2]}
  // CHECK-NEXT: %[[V:.*]] = aten.view %[[Q]] {size = [1, 3, 2, 4]}
  %5 = aten.permute %4 {dims = [1, 3, 2, 0]} : (tensor<4x1x2x3xf32>) -> tensor<1x3x2x4xf32>
  // CHECK-NEXT: func.return %[[R]], %[[P]], %[[V]]
  func.return %2, %3, %5 : tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<1x3x2x4xf32>
}

// -----

// Pointwise ops broadcast by themselves, where shape and type do not come from the expansion.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %z: tensor<f32>, %h: tensor<4x6xf16>) -> (tensor<4x6xf32>, tensor<2x4x6xf32>, tensor<4x6xf32>) {
  // CHECK-NEXT: aten.mul.Tensor %x, %s
  %0 = aten.expand %s {size = [4, 6]} : (tensor<6xf32>) -> tensor<4x6xf32>
  %1 = aten.mul.Tensor %x, %0 : tensor<4x6xf32>
  // CHECK-NEXT: %[[W:.*]] = aten.expand %x {size = [2, 4, 6]}
  // CHECK-NEXT: aten.add.Tensor %[[W]], %z
  %2 = aten.expand %x {size = [2, 4, 6]} : (tensor<4x6xf32>) -> tensor<2x4x6xf32>
  %3 = aten.add.Tensor %2, %z : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  // CHECK-NEXT: %[[Z:.*]] = aten.expand %z {size = [4, 6]}
  // CHECK-NEXT: aten.add.Tensor %h, %[[Z]]
  %4 = aten.expand %z {size = [4, 6]} : (tensor<f32>) -> tensor<4x6xf32>
  %5 = aten.add.Tensor %h, %4 : (tensor<4x6xf16>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %1, %3, %5 : tensor<4x6xf32>, tensor<2x4x6xf32>, tensor<4x6xf32>
}

// -----

// Real permutations and expansions stay, as does the view of an input that is an output.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<2x3xf32>, %n: tensor<?x3xf32>) -> (tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<?x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: aten.permute
  %0 = aten.t %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: aten.expand
  %1 = aten.expand %x {size = [4, 2, 3]} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  // An unknown size that is 1 expands to any other.
  // CHECK-NEXT: aten.expand
  %2 = aten.expand %n {size = [-1, 3]} : tensor<?x3xf32>
  // CHECK-NEXT: aten.view
  %3 = aten.view %x {size = [2, 3]} : tensor<2x3xf32>
  func.return %0, %1, %2, %3 : tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<?x3xf32>, tensor<2x3xf32>
}

// -----

// An expansion that makes a comparison compute in f64 stays; one that changes nothing goes.
// CHECK-LABEL: func.func @compared
func.func @compared(%x: tensor<4xf32>, %d: tensor<f64>, %y: tensor<f32>) -> (tensor<4xi1>, tensor<4xi1>) {
  // CHECK-NEXT: %[[D:.*]] = aten.expand %d
  %0 = aten.expand %d {size = [4]} : (tensor<f64>) -> tensor<4xf64>
  // CHECK-NEXT: aten.eq.Tensor %x, %[[D]]
  %1 = aten.eq.Tensor %x, %0 : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  %2 = aten.expand %y {size = [4]} : (tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: aten.lt.Tensor %x, %y
  %3 = aten.lt.Tensor %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  func.return %1, %3 : tensor<4xi1>, tensor<4xi1>
}
