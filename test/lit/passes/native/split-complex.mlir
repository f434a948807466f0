// RUN: et-opt -p split-complex %s | filecheck %s
// RUN: et-opt -p split-complex %s | filecheck %s --check-prefix=CONSTANTS

// CONSTANTS-DAG: program.constant @cosines : tensor<4x3xf32> = #program.data<f32, [1.0, 1.0, 1.0, 1.0, 0.0, -1.0, 1.0, -1.0, 1.0, 1.0, 0.0, -1.0]>
// CONSTANTS-DAG: program.constant @sines : tensor<4x3xf32> = #program.data<f32, [0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]>

// A transform of few elements is a product with a matrix; of real ones, half of it is computed.
// CHECK-LABEL: func.func @half
// CHECK-NEXT: %[[C:.*]] = program.get @cosines : tensor<4x3xf32>
// CHECK-NEXT: %[[S:.*]] = program.get @sines : tensor<4x3xf32>
// CHECK: %[[R:.*]] = edge.mm %x, %[[C]]
// CHECK: %[[I:.*]] = edge.mm %x, %[[S]]
// CHECK-NOT: complex
// CHECK: edge.cat [%{{.*}}, %{{.*}}] {dim = 2}
func.func @half(%x: tensor<3x4xf32>) -> tensor<3x3x2xf32> {
  %0 = edge._fft_r2c %x {dim = [1], normalization = 0, onesided = true} : (tensor<3x4xf32>) -> tensor<3x3xcomplex<f32>>
  %1 = edge.view_as_real_copy %0 : (tensor<3x3xcomplex<f32>>) -> tensor<3x3x2xf32>
  func.return %1 : tensor<3x3x2xf32>
}

// One of 20 elements is transforms of 4 and of 5, with factors between them.
// CHECK-LABEL: func.func @stages
// CHECK-NEXT: edge.view_copy %x {size = [3, 4, 5]}
// CHECK: edge.mm %{{.*}} : (tensor<15x4xf32>, tensor<4x4xf32>) -> tensor<15x4xf32>
// CHECK: edge.mul.Tensor %{{.*}} : (tensor<3x5x4xf32>, tensor<5x4xf32>) -> tensor<3x5x4xf32>
// CHECK: edge.mm %{{.*}} : (tensor<12x5xf32>, tensor<5x3xf32>) -> tensor<12x3xf32>
// CHECK-NOT: complex
// CHECK: func.return
func.func @stages(%x: tensor<3x20xf32>) -> tensor<3x11xf32> {
  %0 = edge._fft_r2c %x {dim = [1], normalization = 0, onesided = true} : (tensor<3x20xf32>) -> tensor<3x11xcomplex<f32>>
  %1 = edge.view_as_real_copy %0 : (tensor<3x11xcomplex<f32>>) -> tensor<3x11x2xf32>
  %2 = edge.select_copy.int %1 {dim = 2, index = 0} : (tensor<3x11x2xf32>) -> tensor<3x11xf32>
  func.return %2 : tensor<3x11xf32>
}

// Complex results stay, as do transforms of f64 and those of sizes that are known at run time only.
// CHECK-LABEL: func.func @result
// CHECK: edge.complex
func.func @result(%x: tensor<3x4xf32>) -> tensor<3x3xcomplex<f32>> {
  %0 = edge._fft_r2c %x {dim = [1], normalization = 0, onesided = true} : (tensor<3x4xf32>) -> tensor<3x3xcomplex<f32>>
  func.return %0 : tensor<3x3xcomplex<f32>>
}

// CHECK-LABEL: func.func @double
// CHECK-NEXT: edge._fft_r2c
func.func @double(%x: tensor<3x4xf64>) -> tensor<3x3xcomplex<f64>> {
  %0 = edge._fft_r2c %x {dim = [1], normalization = 0, onesided = true} : (tensor<3x4xf64>) -> tensor<3x3xcomplex<f64>>
  func.return %0 : tensor<3x3xcomplex<f64>>
}

// CHECK-LABEL: func.func @sizes
// CHECK-NEXT: edge._fft_r2c
func.func @sizes(%x: tensor<?x4xf32>) -> tensor<?x3xcomplex<f32>> {
  %0 = edge._fft_r2c %x {dim = [1], normalization = 0, onesided = true} : (tensor<?x4xf32>) -> tensor<?x3xcomplex<f32>>
  func.return %0 : tensor<?x3xcomplex<f32>>
}
