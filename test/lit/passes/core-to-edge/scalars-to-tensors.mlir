// RUN: et-opt -p scalars-to-tensors,dce --split-input-file %s | filecheck %s

// A literal where there is an overload for it, also for a number that comes first.
// CHECK-LABEL: func.func @literals
func.func @literals(%x: tensor<4xf32>, %n: tensor<4xi64>, %s: i64) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %two = program.literal 2.0 : f64
  %one = program.literal 1 : i64
  // CHECK-NEXT: aten.mul.Scalar %x {other = 2.0}
  %0 = aten.mul.Tensor %x, %two : (tensor<4xf32>, f64) -> tensor<4xf32>
  // CHECK-NEXT: aten.rsub.Scalar {{.*}} {other = 1, alpha = 3}
  %1 = aten.sub.Tensor %one, %0 {alpha = 3} : (i64, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: aten.add.Scalar {{.*}} {other = %s}
  %2 = aten.add.Tensor %1, %s : (tensor<4xf32>, i64) -> tensor<4xf32>
  // CHECK-NEXT: aten.clamp {{.*}} {min = 1, max = 2.0}
  %3 = aten.clamp.Tensor %2, %one, %two : (tensor<4xf32>, i64, f64) -> tensor<4xf32>
  // CHECK-NEXT: aten.pow.Scalar {{.*}} {self = 2.0}
  %4 = aten.pow.Tensor_Tensor %two, %3 : (f64, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: aten.lt.Scalar %n {other = 2.0}
  %5 = aten.gt.Tensor %two, %n : (f64, tensor<4xi64>) -> tensor<4xi1>
  // CHECK-NEXT: aten.div.Scalar_mode %x {other = 2.0, rounding_mode = "floor"}
  %6 = aten.div.Tensor_mode %x, %two {rounding_mode = "floor"} : (tensor<4xf32>, f64) -> tensor<4xf32>
  func.return %4, %5, %6 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// -----

// A constant of the promoted type elsewhere, shared by all methods; read once in each.
// CHECK: program.constant @scalar_f32_2.0 : tensor<f32> = #program.data<f32, [2.0]>
// CHECK: program.constant @scalar_f16_2.0 : tensor<f16> = #program.data<f16, [2.0]>
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<4xf32>, %h: tensor<4xf16>, %c: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) {
  // CHECK-NEXT: %[[H:.*]] = program.get @scalar_f16_2.0 : tensor<f16>
  // CHECK-NEXT: %[[F:.*]] = program.get @scalar_f32_2.0 : tensor<f32>
  %two = program.literal 2.0 : f64
  // CHECK-NEXT: %[[M:.*]] = aten.maximum %x, %[[F]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = aten.maximum %x, %two : (tensor<4xf32>, f64) -> tensor<4xf32>
  // CHECK-NEXT: aten.where.self %c, %[[F]], %[[M]]
  %1 = aten.where.self %c, %two, %0 : (tensor<4xi1>, f64, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: aten.maximum %h, %[[H]]
  %2 = aten.maximum %h, %two : (tensor<4xf16>, f64) -> tensor<4xf16>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
}
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: program.get @scalar_f32_2.0 : tensor<f32>
  %two = program.literal 2.0 : f64
  %0 = aten.minimum %x, %two : (tensor<4xf32>, f64) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A number known at run time only.
// CHECK-LABEL: func.func @symbol
func.func @symbol(%x: tensor<4xi32>, %s: i64) -> tensor<4xi32> {
  // CHECK-NEXT: %[[T:.*]] = aten.scalar_tensor {s = %s, dtype = i32} : (i64) -> tensor<i32>
  // CHECK-NEXT: aten.maximum %x, %[[T]]
  %0 = aten.maximum %x, %s : (tensor<4xi32>, i64) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

// Literals that are no tensors stay: outputs, and symbolic sizes.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%x: tensor<4xf32>) -> (tensor<2x2xf32>, i64) {
  // CHECK-NEXT: program.literal 2 : i64
  %two = program.literal 2 : i64
  // CHECK-NEXT: aten.view %x {size = [%two, 2]}
  %0 = aten.view %x {size = [%two, 2]} : (tensor<4xf32>, i64) -> tensor<2x2xf32>
  func.return %0, %two : tensor<2x2xf32>, i64
}
