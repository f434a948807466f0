// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Core indexing stays.
func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  %0 = aten.index_select %x, %i {dim = 0} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[INDEX_SELECT:.*]] = aten.index_select %x, %i {dim = 0} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %[[INDEX_SELECT]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2x5xi64>) -> tensor<2x5xf32> {
  %0 = aten.take %x, %i : (tensor<3x4xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  func.return %0 : tensor<2x5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [-1]}
// CHECK-NEXT: %[[INDEX:.*]] = aten.index.Tensor %[[VIEW]], [%i]
// CHECK-NEXT: func.return %[[INDEX]]

// -----

// Torch takes bytes where there is nothing to gather.
func.func @forward(%x: tensor<3xf32>, %i: tensor<0xui8>) -> tensor<0xf32> {
  %0 = aten.gather %x, %i {dim = 0} : (tensor<3xf32>, tensor<0xui8>) -> tensor<0xf32>
  func.return %0 : tensor<0xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %i {dtype = i64}
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %x, %[[TO_COPY]] {dim = 0}
// CHECK-NEXT: func.return %[[GATHER]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2x2xi64>, %src: tensor<2x2xf32>) -> tensor<3x4xf32> {
  %0 = aten.scatter_reduce.two %x, %i, %src {dim = 0, reduce = "amax"} : (tensor<3x4xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SCATTER_REDUCE:.*]] = aten.scatter_reduce.two %x, %i, %src {dim = 0, reduce = "amax"}
// CHECK-NEXT: func.return %[[SCATTER_REDUCE]]

// -----

// No index has a place in a tensor without dimensions.
func.func @forward(%x: tensor<f32>, %i: tensor<1xi64>, %source: tensor<1xf32>) -> tensor<f32> {
  %0 = aten.index_copy %x, %i, %source {dim = 0} : (tensor<f32>, tensor<1xi64>, tensor<1xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[INDEX_COPY:.*]] = aten.index_copy %x, %i, %source {dim = 0}
// CHECK-NEXT: func.return %[[INDEX_COPY]]
