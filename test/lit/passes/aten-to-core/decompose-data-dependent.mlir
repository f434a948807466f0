// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// A mask of all dimensions.
func.func @forward(%x: tensor<3x4xf32>, %m: tensor<3x4xi1>) -> tensor<?xf32> {
  %0 = aten.index.Tensor %x, [%m] : (tensor<3x4xf32>, tensor<3x4xi1>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SELECT:.*]] = aten.masked_select %x, %m : (tensor<3x4xf32>, tensor<3x4xi1>) -> tensor<?xf32>
// CHECK-NEXT: func.return %[[SELECT]]

// -----

// A mask of rows, as bytes.
func.func @forward(%x: tensor<3x4xf32>, %m: tensor<3xui8>) -> tensor<?x4xf32> {
  %0 = aten.index.Tensor %x, [%m] : (tensor<3x4xf32>, tensor<3xui8>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FOUND:.*]] = aten.nonzero %m : (tensor<3xui8>) -> tensor<?x1xi64>
// CHECK-NEXT: %[[ROWS:.*]] = aten.select.int %[[FOUND]] {dim = 1, index = 0}
// CHECK-NEXT: %[[SELECT:.*]] = aten.index_select %x, %[[ROWS]] {dim = 0} : (tensor<3x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
// CHECK-NEXT: func.return %[[SELECT]]

// -----

// A mask of two dimensions of three.
func.func @forward(%x: tensor<2x3x4xf32>, %m: tensor<3x4xi1>) -> tensor<2x?xf32> {
  %0 = aten.index.Tensor %x, [none, %m] : (tensor<2x3x4xf32>, tensor<3x4xi1>) -> tensor<2x?xf32>
  func.return %0 : tensor<2x?xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FOUND:.*]] = aten.nonzero %m : (tensor<3x4xi1>) -> tensor<?x2xi64>
// CHECK-NEXT: %[[FIRST:.*]] = aten.select.int %[[FOUND]] {dim = 1, index = 0}
// CHECK-NEXT: %[[SECOND:.*]] = aten.select.int %[[FOUND]] {dim = 1, index = 1}
// CHECK-NEXT: aten.index.Tensor %x, [none, %[[FIRST]], %[[SECOND]]] : (tensor<2x3x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<2x?xf32>

// -----

// One value for all places of a mask: nothing depends on how many there are.
func.func @forward(%x: tensor<3x4xf32>, %m: tensor<3xi1>, %v: tensor<f32>) -> tensor<3x4xf32> {
  %0 = aten.index_put %x, [%m], %v : (tensor<3x4xf32>, tensor<3xi1>, tensor<f32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MASK:.*]] = aten.view %m {size = [3, 1]} : (tensor<3xi1>) -> tensor<3x1xi1>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[MASK]], %v, %x : (tensor<3x1xi1>, tensor<f32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<2x3xf32>, %n: tensor<2xi64>) -> tensor<?x3xf32> {
  %0 = aten.repeat_interleave.self_Tensor %x, %n {dim = 0} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  func.return %0 : tensor<?x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PLACES:.*]] = aten.repeat_interleave.Tensor %n : (tensor<2xi64>) -> tensor<?xi64>
// CHECK-NEXT: aten.index_select %x, %[[PLACES]] {dim = 0} : (tensor<2x3xf32>, tensor<?xi64>) -> tensor<?x3xf32>

// -----

// The front of what begins anywhere.
func.func @forward(%x: tensor<8xf32>, %n: i64) -> (tensor<?xf32>, tensor<3xf32>) {
  %0 = aten.narrow %x {dim = 0, start = 0, length = %n} : (tensor<8xf32>, i64) -> tensor<?xf32>
  %1 = aten.narrow %x {dim = 0, start = %n, length = 3} : (tensor<8xf32>, i64) -> tensor<3xf32>
  func.return %0, %1 : tensor<?xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.slice.Tensor %x {start = 0, end = %n} : (tensor<8xf32>, i64) -> tensor<?xf32>
// CHECK-NEXT: %[[REST:.*]] = aten.slice.Tensor %x {start = %n} : (tensor<8xf32>, i64) -> tensor<?xf32>
// CHECK-NEXT: aten.slice.Tensor %[[REST]] {start = 0, end = 3} : (tensor<?xf32>) -> tensor<3xf32>

// -----

func.func @forward(%x: tensor<2x5xf32>, %at: tensor<1xi64>) -> (tensor<2x?xf32>, tensor<2x?xf32>) {
  %0, %1 = aten.tensor_split.tensor_indices_or_sections %x, %at {dim = 1} : (tensor<2x5xf32>, tensor<1xi64>) -> (tensor<2x?xf32>, tensor<2x?xf32>)
  func.return %0, %1 : tensor<2x?xf32>, tensor<2x?xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FIRST:.*]] = aten.select.int %at {dim = 0, index = 0} : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %[[AT:.*]] = aten._local_scalar_dense %[[FIRST]] : (tensor<i64>) -> i64
// CHECK-NEXT: aten.slice.Tensor %x {dim = 1, start = 0, end = %[[AT]]} : (tensor<2x5xf32>, i64) -> tensor<2x?xf32>
// CHECK-NEXT: aten.slice.Tensor %x {dim = 1, start = %[[AT]]} : (tensor<2x5xf32>, i64) -> tensor<2x?xf32>

// -----

// As many results as a number says: not decomposed.
func.func @forward(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<?xf32>, tensor<?xf32>) {
  // CHECK: aten.tensor_split.tensor_indices_or_sections %x, %n
  %0, %1 = aten.tensor_split.tensor_indices_or_sections %x, %n : (tensor<4xf32>, tensor<i64>) -> (tensor<?xf32>, tensor<?xf32>)
  func.return %0, %1 : tensor<?xf32>, tensor<?xf32>
}
