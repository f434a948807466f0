// RUN: et-opt -p decompose --split-input-file %s | filecheck %s
// RUN: et-opt -p 'decompose{unroll=20}' --split-input-file %s | filecheck %s --check-prefix UNROLL

// One product for the inputs of all steps, and one bias of two; one product with the state in each step.
func.func @lstm(%x: tensor<20x2x3xf32>, %h: tensor<1x2x4xf32>, %c: tensor<1x2x4xf32>, %wi: tensor<16x3xf32>, %wh: tensor<16x4xf32>, %bi: tensor<16xf32>, %bh: tensor<16xf32>) -> (tensor<20x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %0, %1, %2 = aten.lstm.input %x, [%h, %c], [%wi, %wh, %bi, %bh] {has_biases = true, num_layers = 1, dropout = 0.0, train = false, bidirectional = false, batch_first = false} : (tensor<20x2x3xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<20x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  func.return %0, %1, %2 : tensor<20x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @lstm
// CHECK:       %[[BIAS:.*]] = aten.add.Tensor %bi, %bh : tensor<16xf32>
// CHECK-NEXT:  %[[MATRIX:.*]] = aten.permute %wh {dims = [1, 0]}
// CHECK:       %[[ROWS:.*]] = aten.mm %{{.*}}, %{{.*}} : (tensor<40x3xf32>, tensor<3x16xf32>) -> tensor<40x16xf32>
// CHECK:       %[[ITEMS:.*]] = aten.add.Tensor %{{.*}}, %[[BIAS]]
// CHECK-NEXT:  %[[H:.*]], %[[C:.*]], %[[Y:.*]] = control.scan({{.*}}) over(%[[ITEMS]]) : {{.*}} stacked(tensor<20x2x4xf32>) {
// CHECK-NEXT:  ^bb0(%[[H0:.*]]: tensor<2x4xf32>, %[[C0:.*]]: tensor<2x4xf32>, %[[X:.*]]: tensor<2x16xf32>):
// CHECK-NEXT:    %[[P:.*]] = aten.mm %[[H0]], %[[MATRIX]]
// CHECK-NEXT:    %[[G:.*]] = aten.add.Tensor %[[P]], %[[X]]
// CHECK-COUNT-4: aten.slice.Tensor %[[G]] {dim = 1
// CHECK-COUNT-3: aten.sigmoid
// CHECK:         aten.mul.Tensor %{{.*}}, %[[C0]]
// CHECK:         %[[C1:.*]] = aten.add.Tensor
// CHECK-NEXT:    %[[T:.*]] = aten.tanh %[[C1]]
// CHECK-NEXT:    %[[H1:.*]] = aten.mul.Tensor %{{.*}}, %[[T]]
// CHECK-NEXT:    control.yield %[[H1]], %[[C1]], %[[H1]]
// UNROLL-LABEL: func.func @lstm
// UNROLL-NEXT:  aten.lstm.input

// -----

// A projection in each step.
func.func @projected(%x: tensor<20x2x3xf32>, %h: tensor<1x2x2xf32>, %c: tensor<1x2x4xf32>, %wi: tensor<16x3xf32>, %wh: tensor<16x2xf32>, %wr: tensor<2x4xf32>) -> tensor<20x2x2xf32> {
  %0, %1, %2 = aten.lstm.input %x, [%h, %c], [%wi, %wh, %wr] {has_biases = false, num_layers = 1, dropout = 0.0, train = false, bidirectional = false, batch_first = false} : (tensor<20x2x3xf32>, tensor<1x2x2xf32>, tensor<1x2x4xf32>, tensor<16x3xf32>, tensor<16x2xf32>, tensor<2x4xf32>) -> (tensor<20x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x4xf32>)
  func.return %0 : tensor<20x2x2xf32>
}
// CHECK-LABEL: func.func @projected
// CHECK:       control.scan
// CHECK:         aten.mm %{{.*}}, %{{.*}} : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
// CHECK:         %[[H:.*]] = aten.mm %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    control.yield %[[H]], %{{.*}}, %[[H]]

// -----

// The bias of the state stays in the loop: the reset gate multiplies it. A sequence backwards is reversed before and after.
func.func @gru(%x: tensor<2x20x3xf32>, %h: tensor<2x2x4xf32>, %wi: tensor<12x3xf32>, %wh: tensor<12x4xf32>, %bi: tensor<12xf32>, %bh: tensor<12xf32>) -> (tensor<2x20x8xf32>, tensor<2x2x4xf32>) {
  %0, %1 = aten.gru.input %x, %h, [%wi, %wh, %bi, %bh, %wi, %wh, %bi, %bh] {has_biases = true, num_layers = 1, dropout = 0.0, train = false, bidirectional = true, batch_first = true} : (tensor<2x20x3xf32>, tensor<2x2x4xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<2x20x8xf32>, tensor<2x2x4xf32>)
  func.return %0, %1 : tensor<2x20x8xf32>, tensor<2x2x4xf32>
}
// CHECK-LABEL: func.func @gru
// CHECK:       %[[STEPS:.*]] = aten.permute %x {dims = [1, 0, 2]}
// CHECK:       %{{.*}}, %[[F:.*]] = control.scan
// CHECK:         aten.add.Tensor %{{.*}}, %bh
// CHECK:       aten.flip %[[STEPS]] {dims = [0]}
// CHECK:       %{{.*}}, %[[B:.*]] = control.scan
// CHECK:       %[[R:.*]] = aten.flip %[[B]] {dims = [0]}
// CHECK-NEXT:  %[[Y:.*]] = aten.cat [%[[F]], %[[R]]] {dim = 2}
// CHECK-NEXT:  aten.permute %[[Y]] {dims = [1, 0, 2]}

// -----

// Any number of steps.
func.func @dynamic(%x: tensor<?x2x3xf32>, %h: tensor<1x2x4xf32>, %wi: tensor<4x3xf32>, %wh: tensor<4x4xf32>) -> tensor<?x2x4xf32> {
  %0, %1 = aten.rnn_relu.input %x, %h, [%wi, %wh] {has_biases = false, num_layers = 1, dropout = 0.0, train = false, bidirectional = false, batch_first = false} : (tensor<?x2x3xf32>, tensor<1x2x4xf32>, tensor<4x3xf32>, tensor<4x4xf32>) -> (tensor<?x2x4xf32>, tensor<1x2x4xf32>)
  func.return %0 : tensor<?x2x4xf32>
}
// CHECK-LABEL: func.func @dynamic
// CHECK:       control.scan({{.*}}) over({{.*}}) : (tensor<2x4xf32>) over(tensor<?x2x4xf32>) -> (tensor<2x4xf32>) stacked(tensor<?x2x4xf32>) {
// CHECK:         aten.relu
// UNROLL-LABEL: func.func @dynamic
// UNROLL:       control.scan

// -----

// Few steps, and dropout between layers, are left to torch's decomposition.
func.func @few(%x: tensor<8x2x3xf32>, %h: tensor<1x2x4xf32>, %wi: tensor<4x3xf32>, %wh: tensor<4x4xf32>) -> tensor<8x2x4xf32> {
  %0, %1 = aten.rnn_tanh.input %x, %h, [%wi, %wh] {has_biases = false, num_layers = 1, dropout = 0.0, train = false, bidirectional = false, batch_first = false} : (tensor<8x2x3xf32>, tensor<1x2x4xf32>, tensor<4x3xf32>, tensor<4x4xf32>) -> (tensor<8x2x4xf32>, tensor<1x2x4xf32>)
  func.return %0 : tensor<8x2x4xf32>
}
// CHECK-LABEL: func.func @few
// CHECK-NEXT:  aten.rnn_tanh.input

func.func @dropout(%x: tensor<20x2x4xf32>, %h: tensor<2x2x4xf32>, %w: tensor<4x4xf32>) -> tensor<20x2x4xf32> {
  %0, %1 = aten.rnn_tanh.input %x, %h, [%w, %w, %w, %w] {has_biases = false, num_layers = 2, dropout = 0.5, train = true, bidirectional = false, batch_first = false} : (tensor<20x2x4xf32>, tensor<2x2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<20x2x4xf32>, tensor<2x2x4xf32>)
  func.return %0 : tensor<20x2x4xf32>
}
// CHECK-LABEL: func.func @dropout
// CHECK-NEXT:  aten.rnn_tanh.input
