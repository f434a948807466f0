// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %s: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.index_add %x, %i, %s {dim = 0, alpha = 2} : (tensor<3x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %s {other = 2}
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [%i], %[[MUL]] {accumulate = true} : (tensor<3x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[INDEX_PUT]]

// -----

// Indices broadcast to the tensor; negative ones count from the end.
func.func @forward(%x: tensor<3x4xf32>, %i: tensor<1x2xi64>) -> tensor<3x2xf32> {
  %0 = aten.take_along_dim %x, %i {dim = 1} : (tensor<3x4xf32>, tensor<1x2xi64>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %i {size = [3, 2]} : (tensor<1x2xi64>) -> tensor<3x2xi64>
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[EXPAND]] {other = 0}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[EXPAND]] {other = 4}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[ADD]], %[[EXPAND]]
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %x, %[[WHERE]] {dim = 1} : (tensor<3x4xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %[[GATHER]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>) -> tensor<3x4xf32> {
  %0 = aten.index_fill.int_Scalar %x, %i {dim = 1, value = 7} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 7, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [none, %i], %[[FULL]] : (tensor<3x4xf32>, tensor<2xi64>, tensor<f32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %[[INDEX_PUT]]

// -----

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

// Sums are another operator; other reductions stay.
func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2x2xi64>, %src: tensor<2x2xf32>) -> tensor<3x4xf32> {
  %0 = aten.scatter_reduce.two %x, %i, %src {dim = 0, reduce = "sum"} : (tensor<3x4xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SCATTER_ADD:.*]] = aten.scatter_add %x, %i, %src {dim = 0}
// CHECK-NEXT: func.return %[[SCATTER_ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2x2xi64>, %src: tensor<2x2xf32>) -> tensor<3x4xf32> {
  %0 = aten.scatter_reduce.two %x, %i, %src {dim = 0, reduce = "amax"} : (tensor<3x4xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SCATTER_REDUCE:.*]] = aten.scatter_reduce.two %x, %i, %src {dim = 0, reduce = "amax"}
// CHECK-NEXT: func.return %[[SCATTER_REDUCE]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %source: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %0 = aten.index_copy %x, %i, %source {dim = -1} : (tensor<3x4xf32>, tensor<2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [none, %i], %source
// CHECK-NEXT: func.return %[[INDEX_PUT]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<i64>, %value: tensor<f32>) -> tensor<3x4xf32> {
  %0 = aten.index_fill.int_Tensor %x, %i, %value {dim = 1} : (tensor<3x4xf32>, tensor<i64>, tensor<f32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %i {dim = 0}
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [none, %[[UNSQUEEZE]]], %value
// CHECK-NEXT: func.return %[[INDEX_PUT]]

// -----

// No index has a place in a tensor without dimensions.
func.func @forward(%x: tensor<f32>, %i: tensor<1xi64>, %source: tensor<1xf32>) -> tensor<f32> {
  %0 = aten.index_copy %x, %i, %source {dim = 0} : (tensor<f32>, tensor<1xi64>, tensor<1xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[INDEX_COPY:.*]] = aten.index_copy %x, %i, %source {dim = 0}
// CHECK-NEXT: func.return %[[INDEX_COPY]]

// -----

// Bags of embeddings without what only gradients need; the kernel's -1 is no padding.
func.func @forward(%weight: tensor<5x3xf32>, %i: tensor<6xi64>, %offsets: tensor<2xi64>) -> (tensor<2x3xf32>, tensor<0xi64>, tensor<2xi64>, tensor<2xi64>) {
  %0, %1, %2, %3 = aten.embedding_bag %weight, %i, %offsets : (tensor<5x3xf32>, tensor<6xi64>, tensor<2xi64>) -> (tensor<2x3xf32>, tensor<0xi64>, tensor<2xi64>, tensor<2xi64>)
  func.return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<0xi64>, tensor<2xi64>, tensor<2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EMBEDDING_BAG_FORWARD_ONLY:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY2:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY3:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY4:.*]] = aten._embedding_bag_forward_only %weight, %i, %offsets
// CHECK-NEXT: func.return %[[EMBEDDING_BAG_FORWARD_ONLY]], %[[EMBEDDING_BAG_FORWARD_ONLY2]], %[[EMBEDDING_BAG_FORWARD_ONLY3]], %[[EMBEDDING_BAG_FORWARD_ONLY4]]

// -----

// Padding may count from the end.
func.func @forward(%weight: tensor<5x3xf32>, %i: tensor<6xi64>, %offsets: tensor<2xi64>) -> (tensor<2x3xf32>, tensor<6xi64>, tensor<2xi64>, tensor<2xi64>) {
  %0, %1, %2, %3 = aten.embedding_bag.padding_idx %weight, %i, %offsets {scale_grad_by_freq = false, mode = 0, sparse = false, include_last_offset = false, padding_idx = -2} : (tensor<5x3xf32>, tensor<6xi64>, tensor<2xi64>) -> (tensor<2x3xf32>, tensor<6xi64>, tensor<2xi64>, tensor<2xi64>)
  func.return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<6xi64>, tensor<2xi64>, tensor<2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EMBEDDING_BAG_FORWARD_ONLY:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY2:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY3:.*]], %[[EMBEDDING_BAG_FORWARD_ONLY4:.*]] = aten._embedding_bag_forward_only %weight, %i, %offsets {padding_idx = 3}
// CHECK-NEXT: func.return %[[EMBEDDING_BAG_FORWARD_ONLY]], %[[EMBEDDING_BAG_FORWARD_ONLY2]], %[[EMBEDDING_BAG_FORWARD_ONLY3]], %[[EMBEDDING_BAG_FORWARD_ONLY4]]
