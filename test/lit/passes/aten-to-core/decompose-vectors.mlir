// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Products of vectors and tensors.

func.func @forward(%x: tensor<2x3xf32>, %v: tensor<3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<2xf32> {
  %0 = aten.mv %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %v {dim = 1} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %x, %[[UNSQUEEZE]] : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[MM]] {size = [2]} : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %[[VIEW]]

// -----

func.func @forward(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %z: tensor<3xf32>, %v: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<3x4xf32>) {
  %0 = aten.linalg_matmul %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = aten.outer %z, %v : (tensor<3xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return %0, %1 : tensor<2x4xf32>, tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MM:.*]] = aten.mm %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %z {dim = 1} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[UNSQUEEZE]], %v : (tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[MM]], %[[MUL]]

// -----

// The batch is contracted together with the inner dimension.
func.func @forward(%x: tensor<2x4xf32>, %batch1: tensor<5x2x3xf32>, %batch2: tensor<5x3x4xf32>) -> tensor<2x4xf32> {
  %0 = aten.addbmm %x, %batch1, %batch2 {alpha = 2} : (tensor<2x4xf32>, tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %batch1 {dims = [1, 0, 2]}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[PERMUTE]] {size = [2, 15]}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %batch2 {size = [15, 4]}
// CHECK-NEXT: %[[MM:.*]] = aten.mm %[[VIEW]], %[[VIEW2]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[MM]] {other = 2}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %x, %[[MUL]]
// CHECK-NEXT: func.return %[[ADD]]

// -----

// A `beta` of 0 says not to read what is added.
func.func @forward(%x: tensor<2xf32>, %mat: tensor<2x3xf32>, %v: tensor<3xf32>, %y: tensor<2x3xf32>, %vec1: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.addmv %x, %mat, %v {beta = 0} : (tensor<2xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %v {dim = 1} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %mat, %[[UNSQUEEZE]] : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[MM]] {size = [2]} : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %[[VIEW]]
