// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// The smaller of queries and keys is scaled.
func.func @forward(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x6x16xf32>, %v: tensor<2x4x6x3xf32>) -> tensor<2x4x5x3xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v : (tensor<2x4x5x16xf32>, tensor<2x4x6x16xf32>, tensor<2x4x6x3xf32>) -> tensor<2x4x5x3xf32>
  func.return %0 : tensor<2x4x5x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %q {other = 0.25}
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %k {dims = [0, 1, 3, 2]} : (tensor<2x4x6x16xf32>) -> tensor<2x4x16x6xf32>
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[MUL]] {size = [8, 5, 16]} : (tensor<2x4x5x16xf32>) -> tensor<8x5x16xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[PERMUTE]] {size = [8, 16, 6]} : (tensor<2x4x16x6xf32>) -> tensor<8x16x6xf32>
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %[[VIEW]], %[[VIEW2]] : (tensor<8x5x16xf32>, tensor<8x16x6xf32>) -> tensor<8x5x6xf32>
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[BMM]] {size = [2, 4, 5, 6]} : (tensor<8x5x6xf32>) -> tensor<2x4x5x6xf32>
// CHECK-NEXT: %[[SOFTMAX:.*]] = aten._softmax %[[VIEW3]] {dim = -1, half_to_float = false}
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %[[SOFTMAX]] {size = [8, 5, 6]} : (tensor<2x4x5x6xf32>) -> tensor<8x5x6xf32>
// CHECK-NEXT: %[[VIEW5:.*]] = aten.view %v {size = [8, 6, 3]} : (tensor<2x4x6x3xf32>) -> tensor<8x6x3xf32>
// CHECK-NEXT: %[[BMM2:.*]] = aten.bmm %[[VIEW4]], %[[VIEW5]] : (tensor<8x5x6xf32>, tensor<8x6x3xf32>) -> tensor<8x5x3xf32>
// CHECK-NEXT: %[[VIEW6:.*]] = aten.view %[[BMM2]] {size = [2, 4, 5, 3]} : (tensor<8x5x3xf32>) -> tensor<2x4x5x3xf32>
// CHECK-NEXT: func.return %[[VIEW6]]

// -----

// A mask of booleans is a bias, and a factor that is 0 for rows masked altogether.
func.func @forward(%q: tensor<4x5x16xf32>, %k: tensor<4x5x16xf32>, %v: tensor<4x5x16xf32>, %m: tensor<5x5xi1>) -> tensor<4x5x16xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v, %m {scale = 1.0} : (tensor<4x5x16xf32>, tensor<4x5x16xf32>, tensor<4x5x16xf32>, tensor<5x5xi1>) -> tensor<4x5x16xf32>
  func.return %0 : tensor<4x5x16xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %k {dims = [0, 2, 1]} : (tensor<4x5x16xf32>) -> tensor<4x16x5xf32>
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %q, %[[PERMUTE]] : (tensor<4x5x16xf32>, tensor<4x16x5xf32>) -> tensor<4x5x5xf32>
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0.0, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = -1.7014117331926443e+38, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %m, %[[FULL]], %[[FULL2]] : (tensor<5x5xi1>, tensor<f32>, tensor<f32>) -> tensor<5x5xf32>
// CHECK-NEXT: %[[ANY:.*]] = aten.any.dim %m {dim = -1, keepdim = true} : (tensor<5x5xi1>) -> tensor<5x1xi1>
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[ANY]] {dtype = f32} : (tensor<5x1xi1>) -> tensor<5x1xf32>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[BMM]], %[[WHERE]] : (tensor<4x5x5xf32>, tensor<5x5xf32>) -> tensor<4x5x5xf32>
// CHECK-NEXT: %[[SOFTMAX:.*]] = aten._softmax %[[ADD]] {dim = -1, half_to_float = false}
// CHECK-NEXT: %[[BMM2:.*]] = aten.bmm %[[SOFTMAX]], %v : (tensor<4x5x5xf32>, tensor<4x5x16xf32>) -> tensor<4x5x16xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[BMM2]], %[[TO_COPY]] : (tensor<4x5x16xf32>, tensor<5x1xf32>) -> tensor<4x5x16xf32>
// CHECK-NEXT: func.return %[[MUL]]

// -----

// So is a mask of floats.
func.func @forward(%q: tensor<4x5x16xf32>, %k: tensor<4x5x16xf32>, %v: tensor<4x5x16xf32>, %m: tensor<5x5xf32>) -> tensor<4x5x16xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v, %m {scale = 1.0} : (tensor<4x5x16xf32>, tensor<4x5x16xf32>, tensor<4x5x16xf32>, tensor<5x5xf32>) -> tensor<4x5x16xf32>
  func.return %0 : tensor<4x5x16xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %k {dims = [0, 2, 1]} : (tensor<4x5x16xf32>) -> tensor<4x16x5xf32>
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %q, %[[PERMUTE]] : (tensor<4x5x16xf32>, tensor<4x16x5xf32>) -> tensor<4x5x5xf32>
// CHECK-NEXT: %[[CLAMP:.*]] = aten.clamp %m {min = -1.7014117331926443e+38}
// CHECK-NEXT: %[[AMAX:.*]] = aten.amax %m {dim = [-1], keepdim = true} : (tensor<5x5xf32>) -> tensor<5x1xf32>
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Scalar %[[AMAX]] {other = -inf} : (tensor<5x1xf32>) -> tensor<5x1xi1>
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[GT]] {dtype = f32} : (tensor<5x1xi1>) -> tensor<5x1xf32>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[BMM]], %[[CLAMP]] : (tensor<4x5x5xf32>, tensor<5x5xf32>) -> tensor<4x5x5xf32>
// CHECK-NEXT: %[[SOFTMAX:.*]] = aten._softmax %[[ADD]] {dim = -1, half_to_float = false}
// CHECK-NEXT: %[[BMM2:.*]] = aten.bmm %[[SOFTMAX]], %v : (tensor<4x5x5xf32>, tensor<4x5x16xf32>) -> tensor<4x5x16xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[BMM2]], %[[TO_COPY]] : (tensor<4x5x16xf32>, tensor<5x1xf32>) -> tensor<4x5x16xf32>
// CHECK-NEXT: func.return %[[MUL]]

// -----

// Grouped queries are rows of one product with the keys they share; the causal mask is the same for all heads.
func.func @forward(%q: tensor<1x8x6x4xf32>, %k: tensor<1x2x6x4xf32>, %v: tensor<1x2x6x4xf32>) -> tensor<1x8x6x4xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v {is_causal = true, enable_gqa = true} : (tensor<1x8x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x8x6x4xf32>
  func.return %0 : tensor<1x8x6x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %q {size = [1, 2, 24, 4]} : (tensor<1x8x6x4xf32>) -> tensor<1x2x24x4xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %k {other = 0.5}
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %[[MUL]] {dims = [0, 1, 3, 2]} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x6xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[VIEW]] {size = [2, 24, 4]} : (tensor<1x2x24x4xf32>) -> tensor<2x24x4xf32>
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[PERMUTE]] {size = [2, 4, 6]} : (tensor<1x2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %[[VIEW2]], %[[VIEW3]] : (tensor<2x24x4xf32>, tensor<2x4x6xf32>) -> tensor<2x24x6xf32>
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %[[BMM]] {size = [1, 2, 24, 6]} : (tensor<2x24x6xf32>) -> tensor<1x2x24x6xf32>
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 6, dtype = i64} : () -> tensor<6xi64>
// CHECK-NEXT: %[[VIEW5:.*]] = aten.view %[[ARANGE]] {size = [6, 1]} : (tensor<6xi64>) -> tensor<6x1xi64>
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 6, dtype = i64} : () -> tensor<6xi64>
// CHECK-NEXT: %[[LE:.*]] = aten.le.Tensor %[[ARANGE2]], %[[VIEW5]] : (tensor<6xi64>, tensor<6x1xi64>) -> tensor<6x6xi1>
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0.0, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [], fill_value = -1.7014117331926443e+38, dtype = f32} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LE]], %[[FULL]], %[[FULL2]] : (tensor<6x6xi1>, tensor<f32>, tensor<f32>) -> tensor<6x6xf32>
// CHECK-NEXT: %[[VIEW6:.*]] = aten.view %[[VIEW4]] {size = [1, 8, 6, 6]} : (tensor<1x2x24x6xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[VIEW6]], %[[WHERE]] : (tensor<1x8x6x6xf32>, tensor<6x6xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %[[SOFTMAX:.*]] = aten._softmax %[[ADD]] {dim = -1, half_to_float = false}
// CHECK-NEXT: %[[VIEW7:.*]] = aten.view %[[SOFTMAX]] {size = [1, 2, 24, 6]} : (tensor<1x8x6x6xf32>) -> tensor<1x2x24x6xf32>
// CHECK-NEXT: %[[VIEW8:.*]] = aten.view %[[VIEW7]] {size = [2, 24, 6]} : (tensor<1x2x24x6xf32>) -> tensor<2x24x6xf32>
// CHECK-NEXT: %[[VIEW9:.*]] = aten.view %v {size = [2, 6, 4]} : (tensor<1x2x6x4xf32>) -> tensor<2x6x4xf32>
// CHECK-NEXT: %[[BMM2:.*]] = aten.bmm %[[VIEW8]], %[[VIEW9]] : (tensor<2x24x6xf32>, tensor<2x6x4xf32>) -> tensor<2x24x4xf32>
// CHECK-NEXT: %[[VIEW10:.*]] = aten.view %[[BMM2]] {size = [1, 2, 24, 4]} : (tensor<2x24x4xf32>) -> tensor<1x2x24x4xf32>
// CHECK-NEXT: %[[VIEW11:.*]] = aten.view %[[VIEW10]] {size = [1, 8, 6, 4]} : (tensor<1x2x24x4xf32>) -> tensor<1x8x6x4xf32>
// CHECK-NEXT: func.return %[[VIEW11]]

// -----

// Dropout is of the weights.
func.func @forward(%q: tensor<4x5x16xf32>, %k: tensor<4x5x16xf32>, %v: tensor<4x5x16xf32>) -> tensor<4x5x16xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v {dropout_p = 0.5} : (tensor<4x5x16xf32>, tensor<4x5x16xf32>, tensor<4x5x16xf32>) -> tensor<4x5x16xf32>
  func.return %0 : tensor<4x5x16xf32>
}
// CHECK:      func.func @forward
// CHECK:      %[[SOFTMAX:.*]] = aten._softmax
// CHECK-NEXT: %[[RAND:.*]] = aten.rand {size = [4, 5, 5], dtype = f32}
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[RAND]] {other = 0.5}
// CHECK-NEXT: %[[KEPT:.*]] = aten._to_copy %[[LT]] {dtype = f32}
// CHECK-NEXT: %[[SCALE:.*]] = aten.mul.Scalar %[[KEPT]] {other = 2.0}
// CHECK-NEXT: %[[DROPPED:.*]] = aten.mul.Tensor %[[SOFTMAX]], %[[SCALE]]
// CHECK:      aten.bmm %[[DROPPED]], %v

// -----

// Masked scores get half of the least number of the type that they are computed in.
func.func @forward(%q: tensor<4x5x16xbf16>, %k: tensor<4x5x16xbf16>, %v: tensor<4x5x16xbf16>, %m: tensor<5x5xi1>) -> tensor<4x5x16xbf16> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v, %m {scale = 1.0} : (tensor<4x5x16xbf16>, tensor<4x5x16xbf16>, tensor<4x5x16xbf16>, tensor<5x5xi1>) -> tensor<4x5x16xbf16>
  func.return %0 : tensor<4x5x16xbf16>
}
// CHECK: fill_value = -1.7014117331926443e+38, dtype = f32

// -----

func.func @forward(%q: tensor<4x5x16xf64>, %k: tensor<4x5x16xf64>, %v: tensor<4x5x16xf64>, %m: tensor<5x5xi1>) -> tensor<4x5x16xf64> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v, %m {scale = 1.0} : (tensor<4x5x16xf64>, tensor<4x5x16xf64>, tensor<4x5x16xf64>, tensor<5x5xi1>) -> tensor<4x5x16xf64>
  func.return %0 : tensor<4x5x16xf64>
}
// CHECK: fill_value = -8.988465674311579e+307, dtype = f64
