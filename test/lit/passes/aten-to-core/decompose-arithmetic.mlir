// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.rsub.Tensor %x, %y {alpha = 2} : tensor<4xf32>
  %1 = aten.addcmul %0, %x, %y {value = 0.5} : tensor<4xf32>
  %3 = aten.clamp_min %1 {min = 0.5} : tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %y, %x {alpha = 2} : tensor<4xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %y : tensor<4xf32>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[SUB]], %[[MUL]] {alpha = 0.5} : tensor<4xf32>
// CHECK-NEXT: %[[CLAMP:.*]] = aten.clamp %[[ADD]] {min = 0.5} : tensor<4xf32>
// CHECK-NEXT: func.return %[[CLAMP]]

// -----

// What is filled in has the type of the tensor.
func.func @forward(%x: tensor<4xf16>, %m: tensor<4xi1>) -> (tensor<4xf16>, tensor<4xf16>) {
  %0 = aten.masked_fill.Scalar %x, %m {value = -inf} : (tensor<4xf16>, tensor<4xi1>) -> tensor<4xf16>
  %1 = aten.where.ScalarOther %m, %x {other = 2} : (tensor<4xi1>, tensor<4xf16>) -> tensor<4xf16>
  func.return %0, %1 : tensor<4xf16>, tensor<4xf16>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = -inf, dtype = f16} : () -> tensor<f16>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %m, %[[FULL]], %x : (tensor<4xi1>, tensor<f16>, tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = 2, dtype = f16} : () -> tensor<f16>
// CHECK-NEXT: %[[WHERE2:.*]] = aten.where.self %m, %x, %[[FULL2]] : (tensor<4xi1>, tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
// CHECK-NEXT: func.return %[[WHERE]], %[[WHERE2]]

// -----

// Interpolation starts from the end that is nearer.
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.lerp.Scalar %x, %y {weight = 0.25} : tensor<4xf32>
  %1 = aten.lerp.Scalar %x, %y {weight = 0.75} : tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %y, %x
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %x, %[[SUB]] {alpha = 0.25}
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Tensor %y, %x
// CHECK-NEXT: %[[SUB3:.*]] = aten.sub.Tensor %y, %[[SUB2]] {alpha = 0.25}
// CHECK-NEXT: func.return %[[ADD]], %[[SUB3]]

// -----

// Conversions that convert nothing are nothing; those of memory formats stay copies.
func.func @forward(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xi64>) {
  %0 = aten.to.dtype %x {dtype = f32} : tensor<1x2x3x4xf32>
  %1 = aten.to.dtype %0 {dtype = f32, memory_format = "channels_last"} : tensor<1x2x3x4xf32>
  %2 = aten.contiguous %1 : tensor<1x2x3x4xf32>
  %3 = aten.to.device %2 {device = "cpu", dtype = i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xi64>
  func.return %2, %3 : tensor<1x2x3x4xf32>, tensor<1x2x3x4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f32, memory_format = "channels_last"}
// CHECK-NEXT: %[[CLONE:.*]] = aten.clone %[[TO_COPY]] {memory_format = "contiguous_format"}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %[[CLONE]] {dtype = i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xi64>
// CHECK-NEXT: func.return %[[CLONE]], %[[TO_COPY2]]

// -----

// Complex numbers are left to torch.
func.func @forward(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = aten.sgn %x : tensor<4xcomplex<f32>>
  func.return %0 : tensor<4xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SGN:.*]] = aten.sgn %x : tensor<4xcomplex<f32>>
// CHECK-NEXT: func.return %[[SGN]]

// -----

// The remainder of a number is that of a tensor without dimensions.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.remainder.Scalar_Tensor %x {self = 2.5} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK:      %[[R:.*]] = aten.remainder.Tensor %{{.*}}, %x
// CHECK-NEXT: func.return %[[R]]
