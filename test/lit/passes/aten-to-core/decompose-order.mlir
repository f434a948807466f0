// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

// What need not be stable is a sort, which is a topk.
func.func @forward(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>) {
  %0, %1 = aten.sort.stable %x {stable = false, dim = -1} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
  func.return %0, %1 : tensor<3x4xf32>, tensor<3x4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SORT:.*]], %[[SORT2:.*]] = aten.sort %x : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
// CHECK-NEXT: func.return %[[SORT]], %[[SORT2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>) {
  %0, %1 = aten.kthvalue %x {k = 2, dim = 1} : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SORT:.*]], %[[SORT2:.*]] = aten.sort %x {dim = 1} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
// CHECK-NEXT: %[[SELECT:.*]] = aten.select.int %[[SORT]] {dim = 1, index = 1} : (tensor<3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[SELECT2:.*]] = aten.select.int %[[SORT2]] {dim = 1, index = 1} : (tensor<3x4xi64>) -> tensor<3xi64>
// CHECK-NEXT: func.return %[[SELECT]], %[[SELECT2]]

// -----

// The larger of the middle and a NaN.
func.func @forward(%x: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>) {
  %0, %1 = aten.median.dim %x {dim = 1} : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SORT:.*]], %[[SORT2:.*]] = aten.sort %x {dim = 1} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
// CHECK-NEXT: %[[SELECT:.*]] = aten.select.int %[[SORT]] {dim = 1, index = 1} : (tensor<3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[SELECT2:.*]] = aten.select.int %[[SORT2]] {dim = 1, index = 1} : (tensor<3x4xi64>) -> tensor<3xi64>
// CHECK-NEXT: %[[MAX:.*]], %[[MAX2:.*]] = aten.max.dim %x {dim = 1} : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>)
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %[[MAX]] : (tensor<3xf32>) -> tensor<3xi1>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[ISNAN]], %[[MAX]], %[[SELECT]] : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[WHERE2:.*]] = aten.where.self %[[ISNAN]], %[[MAX2]], %[[SELECT2]] : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
// CHECK-NEXT: func.return %[[WHERE]], %[[WHERE2]]

// -----

// Integers have no NaN.
func.func @forward(%x: tensor<4xi64>) -> tensor<i64> {
  %0 = aten.median %x : (tensor<4xi64>) -> tensor<i64>
  func.return %0 : tensor<i64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SORT:.*]], %[[SORT2:.*]] = aten.sort %x {dim = 0} : (tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
// CHECK-NEXT: %[[SELECT:.*]] = aten.select.int %[[SORT]] {dim = 0, index = 1} : (tensor<4xi64>) -> tensor<i64>
// CHECK-NEXT: func.return %[[SELECT]]

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = aten.nanmedian %x : (tensor<4xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SORT:.*]], %[[SORT2:.*]] = aten.sort %x {dim = 0} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %x : (tensor<4xf32>) -> tensor<4xi1>
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ISNAN]] : tensor<4xi1>
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[LOGICAL_NOT]] {dim = [0], keepdim = true} : (tensor<4xi1>) -> tensor<1xi64>
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Scalar %[[SUM]] {other = 1} : tensor<1xi64>
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar_mode %[[SUB]] {other = 2, rounding_mode = "trunc"} : tensor<1xi64>
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %[[SORT]], %[[DIV]] {dim = 0} : (tensor<4xf32>, tensor<1xi64>) -> tensor<1xf32>
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[GATHER]] {dim = [0]} : (tensor<1xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %[[SQUEEZE]]

// -----

// The middle of those that are numbers.
func.func @forward(%x: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>) {
  %0, %1 = aten.nanmedian.dim %x {dim = 1} : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SORT:.*]], %[[SORT2:.*]] = aten.sort %x {dim = 1} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
// CHECK-NEXT: %[[ISNAN:.*]] = aten.isnan %x : (tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[ISNAN]] : tensor<3x4xi1>
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[LOGICAL_NOT]] {dim = [1], keepdim = true} : (tensor<3x4xi1>) -> tensor<3x1xi64>
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Scalar %[[SUM]] {other = 1} : tensor<3x1xi64>
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar_mode %[[SUB]] {other = 2, rounding_mode = "trunc"} : tensor<3x1xi64>
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %[[SORT]], %[[DIV]] {dim = 1} : (tensor<3x4xf32>, tensor<3x1xi64>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[GATHER2:.*]] = aten.gather %[[SORT2]], %[[DIV]] {dim = 1} : (tensor<3x4xi64>, tensor<3x1xi64>) -> tensor<3x1xi64>
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[GATHER]] {dim = [1]} : (tensor<3x1xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[SQUEEZE2:.*]] = aten.squeeze.dims %[[GATHER2]] {dim = [1]} : (tensor<3x1xi64>) -> tensor<3xi64>
// CHECK-NEXT: func.return %[[SQUEEZE]], %[[SQUEEZE2]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %e: tensor<5xf32>) -> tensor<3x4xi32> {
  %0 = aten.bucketize.Tensor %x, %e {out_int32 = true, right = true} : (tensor<3x4xf32>, tensor<5xf32>) -> tensor<3x4xi32>
  func.return %0 : tensor<3x4xi32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = -1}
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Tensor %e, %[[UNSQUEEZE]]
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[GT]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[LOGICAL_NOT]] {dim = [-1]}
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[SUM]] {dtype = i32}
// CHECK-NEXT: func.return %[[TO_COPY]]

// -----

func.func @forward(%e: tensor<5xf32>) -> tensor<i64> {
  %0 = aten.bucketize.Scalar %e {self = 0.5} : (tensor<5xf32>) -> tensor<i64>
  func.return %0 : tensor<i64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[GE:.*]] = aten.ge.Scalar %e {other = 0.5}
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[GE]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[LOGICAL_NOT]] {dim = []}
// CHECK-NEXT: func.return %[[SUM]]

// -----

func.func @forward(%s: tensor<3x5xf32>, %x: tensor<3x4xf32>) -> tensor<3x4xi64> {
  %0 = aten.searchsorted.Tensor %s, %x, none : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<3x4xi64>
  func.return %0 : tensor<3x4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %s {dim = -2}
// CHECK-NEXT: %[[UNSQUEEZE2:.*]] = aten.unsqueeze %x {dim = -1}
// CHECK-NEXT: %[[GE:.*]] = aten.ge.Tensor %[[UNSQUEEZE]], %[[UNSQUEEZE2]]
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[GE]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[LOGICAL_NOT]] {dim = [-1]}
// CHECK-NEXT: func.return %[[SUM]]

// -----

// A search in more than a million places stays.
func.func @forward(%s: tensor<2000xf32>, %x: tensor<2000xf32>) -> tensor<2000xi64> {
  %0 = aten.searchsorted.Tensor %s, %x, none : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xi64>
  func.return %0 : tensor<2000xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SEARCHSORTED:.*]] = aten.searchsorted.Tensor %s, %x
// CHECK-NEXT: func.return %[[SEARCHSORTED]]

// -----

func.func @forward(%sorted_sequence: tensor<4xf32>) -> tensor<i64> {
  %0 = aten.searchsorted.Scalar %sorted_sequence {self = 0.5, right = true} : (tensor<4xf32>) -> tensor<i64>
  func.return %0 : tensor<i64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Scalar %sorted_sequence {other = 0.5}
// CHECK-NEXT: %[[LOGICAL_NOT:.*]] = aten.logical_not %[[GT]]
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[LOGICAL_NOT]] {dim = []}
// CHECK-NEXT: func.return %[[SUM]]

// -----

// Kernels of `topk` take no truth values.
func.func @forward(%x: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi64>) {
  %0, %1 = aten.sort %x : (tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi64>)
  func.return %0, %1 : tensor<4xi1>, tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SORT:.*]], %[[SORT2:.*]] = aten.sort %x
// CHECK-NEXT: func.return %[[SORT]], %[[SORT2]]
