// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// Tensors made from nothing.

func.func @forward() -> (tensor<2x3xf32>, tensor<2xi1>) {
  %0 = aten.zeros {size = [2, 3]} : () -> tensor<2x3xf32>
  %1 = aten.ones {size = [2], dtype = i1} : () -> tensor<2xi1>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2xi1>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [2, 3], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [2], fill_value = 1, dtype = i1}
// CHECK-NEXT: func.return %[[FULL]], %[[FULL2]]

// -----

// Of another tensor's type.
func.func @forward(%x: tensor<3xf16>, %y: tensor<3xi64>) -> (tensor<2xf16>, tensor<2xi64>) {
  %0 = aten.new_zeros %x {size = [2]} : (tensor<3xf16>) -> tensor<2xf16>
  %1 = aten.new_full %y {size = [2], fill_value = 7} : (tensor<3xi64>) -> tensor<2xi64>
  func.return %0, %1 : tensor<2xf16>, tensor<2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [2], fill_value = 0, dtype = f16}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [2], fill_value = 7, dtype = i64}
// CHECK-NEXT: func.return %[[FULL]], %[[FULL2]]

// -----

// Elements that nothing says anything of are zero.
func.func @forward(%x: tensor<3xf32>) -> (tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) {
  %0 = aten.new_empty %x {size = [2, 2]} : (tensor<3xf32>) -> tensor<2x2xf32>
  %1 = aten.empty_strided {size = [2, 3], stride = [1, 2]} : () -> tensor<2x3xf32>
  %3 = aten.empty_permuted {size = [2, 3], physical_layout = [1, 0]} : () -> tensor<2x3xf32>
  %4 = aten.empty_like %x : tensor<3xf32>
  func.return %0, %1, %3, %4 : tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [2, 2], fill_value = 0, dtype = f32} : () -> tensor<2x2xf32>
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [2, 3], fill_value = 0, dtype = f32} : () -> tensor<2x3xf32>
// CHECK-NEXT: %[[FULL3:.*]] = aten.full {size = [2, 3], fill_value = 0, dtype = f32} : () -> tensor<2x3xf32>
// CHECK-NEXT: %[[FULL4:.*]] = aten.full {size = [3], fill_value = 0, dtype = f32} : () -> tensor<3xf32>
// CHECK-NEXT: func.return %[[FULL]], %[[FULL2]], %[[FULL3]], %[[FULL4]]

// -----

func.func @forward(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = aten.zero %x : tensor<2x3xf32>
  %1 = aten.fill.Scalar %x {value = 2} : tensor<2x3xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [2, 3], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[FULL2:.*]] = aten.full {size = [2, 3], fill_value = 2, dtype = f32}
// CHECK-NEXT: func.return %[[FULL]], %[[FULL2]]

// -----

func.func @forward(%like: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<3xi64>) {
  %0 = aten.arange.start {start = 1, end = 5, dtype = f32} : () -> tensor<4xf32>
  %1 = aten._dim_arange %like {dim = 1} : (tensor<2x3xf32>) -> tensor<3xi64>
  func.return %0, %1 : tensor<4xf32>, tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 1, end = 5, dtype = f32}
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 3, dtype = i64}
// CHECK-NEXT: func.return %[[ARANGE]], %[[ARANGE2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.triu %x {diagonal = -1} : tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 3, dtype = i64}
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %[[ARANGE]] {dim = 1}
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 4, dtype = i64}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[UNSQUEEZE]] {other = -1}
// CHECK-NEXT: %[[GE:.*]] = aten.ge.Tensor %[[ARANGE2]], %[[ADD]]
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 0, dtype = f32}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[GE]], %x, %[[FULL]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<2x3xi64>) -> tensor<2x3x4xi64> {
  %0 = aten.one_hot %x {num_classes = 4} : (tensor<2x3xi64>) -> tensor<2x3x4xi64>
  func.return %0 : tensor<2x3x4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 4, dtype = i64}
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = -1}
// CHECK-NEXT: %[[EQ:.*]] = aten.eq.Tensor %[[UNSQUEEZE]], %[[ARANGE]]
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[EQ]] {dtype = i64}
// CHECK-NEXT: func.return %[[TO_COPY]]

// -----

// Ends that are known when the program runs.
func.func @forward(%start: tensor<f32>, %end: tensor<f32>) -> tensor<5xf32> {
  %0 = aten.linspace.Tensor_Tensor %start, %end {steps = 5} : (tensor<f32>, tensor<f32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %end, %start
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar %[[SUB]] {other = 4}
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 5, dtype = f32}
// CHECK-NEXT: %[[NUMBER:.*]] = program.literal 4
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Tensor %[[NUMBER]], %[[ARANGE]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[ARANGE]], %[[DIV]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %start, %[[MUL]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %[[SUB2]], %[[DIV]]
// CHECK-NEXT: %[[SUB3:.*]] = aten.sub.Tensor %end, %[[MUL2]]
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[ARANGE]] {other = 2}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[ADD]], %[[SUB3]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%end: tensor<f32>) -> tensor<1xf32> {
  %0 = aten.linspace.Scalar_Tensor %end {start = 1.5, steps = 1} : (tensor<f32>) -> tensor<1xf32>
  func.return %0 : tensor<1xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1.5, dtype = f32}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[FULL]] {size = [1]}
// CHECK-NEXT: func.return %[[EXPAND]]

// -----

// Integers are counted in f64, from both ends to the middle.
func.func @forward() -> tensor<4xi64> {
  %0 = aten.linspace {start = 0, end = 9, steps = 4, dtype = i64} : () -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[STEPS:.*]] = aten.arange.start_step {start = 0, end = 4, dtype = f64}
// CHECK-NEXT: %[[LAST:.*]] = program.literal 3
// CHECK-NEXT: %[[LEFT:.*]] = aten.sub.Tensor %[[LAST]], %[[STEPS]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[STEPS]] {other = 3.0}
// CHECK-NEXT: %[[UP:.*]] = aten.add.Scalar %[[MUL]] {other = 0}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[LEFT]] {other = 3.0}
// CHECK-NEXT: %[[END:.*]] = program.literal 9
// CHECK-NEXT: %[[DOWN:.*]] = aten.sub.Tensor %[[END]], %[[MUL2]]
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[STEPS]] {other = 2}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[UP]], %[[DOWN]]
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %[[WHERE]] {dtype = i64}
// CHECK-NEXT: func.return %[[TO_COPY]]
