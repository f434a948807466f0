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

// -----

// Torch's oldest conversions.
func.func @forward(%x: tensor<3xf32>) -> (tensor<3xui8>, tensor<3xi8>, tensor<3xi16>, tensor<3xi32>, tensor<3xi64>, tensor<3xf16>, tensor<3xf64>) {
  %0 = aten._cast_Byte %x : (tensor<3xf32>) -> tensor<3xui8>
  %1 = aten._cast_Char %x : (tensor<3xf32>) -> tensor<3xi8>
  %2 = aten._cast_Short %x : (tensor<3xf32>) -> tensor<3xi16>
  %3 = aten._cast_Int %x : (tensor<3xf32>) -> tensor<3xi32>
  %4 = aten._cast_Long %x : (tensor<3xf32>) -> tensor<3xi64>
  %5 = aten._cast_Half %x : (tensor<3xf32>) -> tensor<3xf16>
  %6 = aten._cast_Double %x : (tensor<3xf32>) -> tensor<3xf64>
  func.return %0, %1, %2, %3, %4, %5, %6 : tensor<3xui8>, tensor<3xi8>, tensor<3xi16>, tensor<3xi32>, tensor<3xi64>, tensor<3xf16>, tensor<3xf64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = ui8}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %x {dtype = i8}
// CHECK-NEXT: %[[TO_COPY3:.*]] = aten._to_copy %x {dtype = i16}
// CHECK-NEXT: %[[TO_COPY4:.*]] = aten._to_copy %x {dtype = i32}
// CHECK-NEXT: %[[TO_COPY5:.*]] = aten._to_copy %x {dtype = i64}
// CHECK-NEXT: %[[TO_COPY6:.*]] = aten._to_copy %x {dtype = f16}
// CHECK-NEXT: %[[TO_COPY7:.*]] = aten._to_copy %x {dtype = f64}
// CHECK-NEXT: func.return %[[TO_COPY]], %[[TO_COPY2]], %[[TO_COPY3]], %[[TO_COPY4]], %[[TO_COPY5]], %[[TO_COPY6]], %[[TO_COPY7]]

// -----

// Already of that type.
func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten._cast_Float %x : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: func.return %x

// -----

func.func @forward(%x: tensor<2x3xf32>, %value: tensor<i64>) -> tensor<2x3xf32> {
  %0 = aten.fill.Tensor %x, %value : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %value {dtype = f32}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[TO_COPY]] {size = [2, 3]}
// CHECK-NEXT: func.return %[[EXPAND]]
