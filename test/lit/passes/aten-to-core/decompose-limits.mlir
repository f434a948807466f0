// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

// What kernels are narrower in than torch.

// Integers and a float.
func.func @forward(%x: tensor<3xi64>) -> tensor<3xf32> {
  %0 = aten.add.Scalar %x {other = 0.5} : (tensor<3xi64>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[TO_COPY]] {other = 0.5}
// CHECK-NEXT: func.return %[[ADD]]

// -----

func.func @forward(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.add.Scalar %x {other = 2} : (tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %x {other = 2}
// CHECK-NEXT: func.return %[[ADD]]

// -----

// Padding that cuts off.
func.func @forward(%x: tensor<3x4xf32>) -> tensor<2x6xf32> {
  %0 = aten.constant_pad_nd %x {pad = [-1, 3, 0, -1]} : (tensor<3x4xf32>) -> tensor<2x6xf32>
  func.return %0 : tensor<2x6xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SLICE:.*]] = aten.slice.Tensor %x {dim = 1, start = 1, end = 4}
// CHECK-NEXT: %[[SLICE2:.*]] = aten.slice.Tensor %[[SLICE]] {start = 0, end = 2}
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = aten.constant_pad_nd %[[SLICE2]] {pad = [0, 3, 0, 0]}
// CHECK-NEXT: func.return %[[CONSTANT_PAD_ND]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x7xf32> {
  %0 = aten.constant_pad_nd %x {pad = [1, 2]} : (tensor<3x4xf32>) -> tensor<3x7xf32>
  func.return %0 : tensor<3x7xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CONSTANT_PAD_ND:.*]] = aten.constant_pad_nd %x {pad = [1, 2]}
// CHECK-NEXT: func.return %[[CONSTANT_PAD_ND]]

// -----

// No dimensions.
func.func @forward(%x: tensor<i32>) -> tensor<i64> {
  %0 = aten.cumsum %x {dim = 0} : (tensor<i32>) -> tensor<i64>
  func.return %0 : tensor<i64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = i64}
// CHECK-NEXT: func.return %[[TO_COPY]]

// -----

func.func @forward(%x: tensor<f32>) -> tensor<f32> {
  %0 = aten.linalg_vector_norm %x {dim = [0]} : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %x
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[MUL]] {dim = []}
// CHECK-NEXT: %[[SQRT:.*]] = aten.sqrt %[[SUM]]
// CHECK-NEXT: func.return %[[SQRT]]

// -----

// Factors of integers are integers.
func.func @forward(%x: tensor<3xi64>, %y: tensor<3xi64>, %z: tensor<3xi64>) -> tensor<3xi64> {
  %0 = aten.addcmul %x, %y, %z {value = 3.5} : (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %y, %z
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %x, %[[MUL]] {alpha = 3}
// CHECK-NEXT: func.return %[[ADD]]

// -----

// Sixteen bits are computed in thirty-two.
func.func @forward(%x: tensor<3xbf16>, %y: tensor<3xbf16>, %z: tensor<3xbf16>) -> tensor<3xbf16> {
  %0 = aten.addcdiv %x, %y, %z {value = 3.5} : (tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  func.return %0 : tensor<3xbf16>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %y {dtype = f32}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %z {dtype = f32}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Tensor %[[TO_COPY]], %[[TO_COPY2]]
// CHECK-NEXT: %[[TO_COPY3:.*]] = aten._to_copy %x {dtype = f32}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[TO_COPY3]], %[[DIV]] {alpha = 3.5}
// CHECK-NEXT: %[[TO_COPY4:.*]] = aten._to_copy %[[ADD]] {dtype = bf16}
// CHECK-NEXT: func.return %[[TO_COPY4]]

// -----

func.func @forward(%x: tensor<f32>) -> tensor<5xf32> {
  %0 = aten.linspace.Tensor_Scalar %x {end = 2, steps = 5} : (tensor<f32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 2, dtype = f32}
// CHECK-NEXT: %[[SUB:.*]] = aten.sub.Tensor %[[FULL]], %x
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar %[[SUB]] {other = 4}
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 5, dtype = f32}
// CHECK-NEXT: %[[LITERAL:.*]] = program.literal 4
// CHECK-NEXT: %[[SUB2:.*]] = aten.sub.Tensor %[[LITERAL]], %[[ARANGE]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[ARANGE]], %[[DIV]]
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %x, %[[MUL]]
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Tensor %[[SUB2]], %[[DIV]]
// CHECK-NEXT: %[[SUB3:.*]] = aten.sub.Tensor %[[FULL]], %[[MUL2]]
// CHECK-NEXT: %[[LT:.*]] = aten.lt.Scalar %[[ARANGE]] {other = 2}
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[LT]], %[[ADD]], %[[SUB3]]
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<3xf32>) -> tensor<3x2xf32> {
  %0 = aten.combinations %x : (tensor<3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SLICE:.*]] = aten.slice.Tensor %x {start = 1, end = 3}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[SLICE]] {size = [2, 1]}
// CHECK-NEXT: %[[SLICE2:.*]] = aten.slice.Tensor %x {start = 0, end = 1}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[SLICE2]] {size = [1, 1]}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[VIEW2]] {size = [2, 1]}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[EXPAND]], %[[VIEW]]] {dim = 1}
// CHECK-NEXT: %[[SLICE3:.*]] = aten.slice.Tensor %x {start = 2, end = 3}
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[SLICE3]] {size = [1, 1]}
// CHECK-NEXT: %[[SLICE4:.*]] = aten.slice.Tensor %x {start = 1, end = 2}
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %[[SLICE4]] {size = [1, 1]}
// CHECK-NEXT: %[[CAT2:.*]] = aten.cat [%[[VIEW4]], %[[VIEW3]]] {dim = 1}
// CHECK-NEXT: %[[CAT3:.*]] = aten.cat [%[[CAT]], %[[CAT2]]]
// CHECK-NEXT: func.return %[[CAT3]]

// -----

// More than a few hundred pieces stay one operator.
func.func @forward(%x: tensor<300xf32>) -> tensor<44850x2xf32> {
  %0 = aten.combinations %x : (tensor<300xf32>) -> tensor<44850x2xf32>
  func.return %0 : tensor<44850x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[COMBINATIONS:.*]] = aten.combinations %x
// CHECK-NEXT: func.return %[[COMBINATIONS]]
