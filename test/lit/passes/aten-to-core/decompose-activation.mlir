// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.silu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SIGMOID:.*]] = aten.sigmoid %x
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %x, %[[SIGMOID]]
// CHECK-NEXT: func.return %[[MUL]]

// -----

// Functions of several steps are computed in f32.
func.func @forward(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = aten.hardswish %x : tensor<4xf16>
  func.return %0 : tensor<4xf16>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[TO_COPY]] {other = 3}
// CHECK-NEXT: %[[HARDTANH:.*]] = aten.hardtanh %[[ADD]] {min_val = 0, max_val = 6}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[TO_COPY]], %[[HARDTANH]]
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar %[[MUL]] {other = 6}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %[[DIV]] {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT: func.return %[[TO_COPY2]]

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu6 %x : tensor<4xf32>
  %1 = aten.hardsigmoid %0 : tensor<4xf32>
  %2 = aten.mish %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[HARDTANH:.*]] = aten.hardtanh %x {min_val = 0, max_val = 6}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[HARDTANH]] {other = 3}
// CHECK-NEXT: %[[HARDTANH2:.*]] = aten.hardtanh %[[ADD]] {min_val = 0, max_val = 6}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar %[[HARDTANH2]] {other = 6}
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[DIV]]
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %[[EXP]]
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Scalar %[[DIV]] {other = 20} : (tensor<4xf32>) -> tensor<4xi1>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[GT]], %[[DIV]], %[[LOG1P]] : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[TANH:.*]] = aten.tanh %[[WHERE]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[DIV]], %[[TANH]]
// CHECK-NEXT: func.return %[[MUL]]

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.celu %x {alpha = 2.0} : tensor<4xf32>
  %1 = aten.softplus %0 {beta = 2, threshold = 10} : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ELU:.*]] = aten.elu %x {alpha = 2.0, input_scale = 0.5} : tensor<4xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[ELU]] {other = 2} : tensor<4xf32>
// CHECK-NEXT: %[[EXP:.*]] = aten.exp %[[MUL]] : tensor<4xf32>
// CHECK-NEXT: %[[LOG1P:.*]] = aten.log1p %[[EXP]] : tensor<4xf32>
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar %[[LOG1P]] {other = 2} : tensor<4xf32>
// CHECK-NEXT: %[[GT:.*]] = aten.gt.Scalar %[[MUL]] {other = 10} : (tensor<4xf32>) -> tensor<4xi1>
// CHECK-NEXT: %[[WHERE:.*]] = aten.where.self %[[GT]], %[[ELU]], %[[DIV]] : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %[[WHERE]]

// -----

func.func @forward(%x: tensor<2x6xf32>) -> tensor<2x3xf32> {
  %0 = aten.glu %x : (tensor<2x6xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %[[SPLIT_WITH_SIZES2:.*]] = aten.split_with_sizes %x {split_sizes = [3, 3], dim = -1} : (tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: %[[SIGMOID:.*]] = aten.sigmoid %[[SPLIT_WITH_SIZES2]]
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[SPLIT_WITH_SIZES]], %[[SIGMOID]]
// CHECK-NEXT: func.return %[[MUL]]

// -----

// Dropout outside of training is nothing at all.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.dropout %x {p = 0.5, train = false} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: func.return %x
