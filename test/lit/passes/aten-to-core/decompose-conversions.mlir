// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Conversions.

func.func @forward(%x: tensor<3xf32>, %y: tensor<2xi64>) -> (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) {
  %0 = aten.to.dtype_layout %x {dtype = i1} : (tensor<3xf32>) -> tensor<3xi1>
  %1 = aten.to.other %x, %y : (tensor<3xf32>, tensor<2xi64>) -> tensor<3xi64>
  %2 = aten.type_as %x, %y : (tensor<3xf32>, tensor<2xi64>) -> tensor<3xi64>
  func.return %0, %1, %2 : tensor<3xi1>, tensor<3xi64>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = i1}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %x {dtype = i64}
// CHECK-NEXT: %[[TO_COPY3:.*]] = aten._to_copy %x {dtype = i64}
// CHECK-NEXT: func.return %[[TO_COPY]], %[[TO_COPY2]], %[[TO_COPY3]]

// -----

// To another memory format as well.
func.func @forward(%x: tensor<1x2x3x4xf32>, %y: tensor<2xi64>) -> tensor<1x2x3x4xi64> {
  %0 = aten.to.other %x, %y {memory_format = "channels_last"} : (tensor<1x2x3x4xf32>, tensor<2xi64>) -> tensor<1x2x3x4xi64>
  func.return %0 : tensor<1x2x3x4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = i64, memory_format = "channels_last"}
// CHECK-NEXT: func.return %[[TO_COPY]]
