// RUN: et-opt -p form-kernels %s | filecheck %s
// RUN: et-opt -p form-kernels,assign-layouts,convert-to-loops %s | filecheck %s --check-prefix LOOPS

// A loop is a kernel with those of its body inside, and with the constants that they read.
program.constant @w : tensor<4x4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]>
func.func @forward(%h: tensor<2x4xf32>, %b: tensor<4xf32>, %xs: tensor<9x2x4xf32>) -> (tensor<2x4xf32>, tensor<9x2x4xf32>) {
  %w = program.get @w : tensor<4x4xf32>
  %c = edge.exp %b : tensor<4xf32>
  %last, %ys = control.scan (%h) over (%xs) : (tensor<2x4xf32>) over (tensor<9x2x4xf32>) -> (tensor<2x4xf32>) stacked (tensor<9x2x4xf32>) {
  ^bb0(%s: tensor<2x4xf32>, %x: tensor<2x4xf32>):
    %0 = edge.mm %s, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = edge.add.Tensor %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = edge.mul.Tensor %1, %c : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    control.yield %2, %2 : tensor<2x4xf32>, tensor<2x4xf32>
  }
  func.return %last, %ys : tensor<2x4xf32>, tensor<9x2x4xf32>
}

// CHECK-LABEL: func.func @forward
// CHECK:         %[[C:.*]] = native.kernel "pointwise"(%b)
// CHECK:         native.kernel "loop"(%h, %xs, %[[C]]) : (tensor<2x4xf32>, tensor<9x2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<9x2x4xf32>) {
// CHECK-NEXT:    ^bb0(%[[H:.*]]: tensor<2x4xf32>, %[[XS:.*]]: tensor<9x2x4xf32>, %[[D:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[W:.*]] = program.get @w
// CHECK-NEXT:      control.scan(%[[H]]) over(%[[XS]])
// CHECK-NEXT:      ^bb0(%[[S:.*]]: tensor<2x4xf32>, %[[X:.*]]: tensor<2x4xf32>):
// CHECK-NEXT:        %[[Y:.*]] = native.kernel "product"(%[[S]], %[[W]], %[[X]], %[[D]])
// CHECK:             control.yield %[[Y]], %[[Y]]

// The items are computed in their place in the stack, and copied into the state, which is the result.
// LOOPS-LABEL: func.func private @loop_0
// LOOPS:         scf.for %[[TURN:.*]] = %{{.*}} to
// LOOPS:           %[[AT:.*]] = arith.muli %[[TURN]]
// LOOPS:           memref.reinterpret_cast %{{.*}} to offset: [%[[AT]]]
// LOOPS:           func.call @product_0
// LOOPS:           func.call @copy_0
// LOOPS-NEXT:    }
// LOOPS-LABEL: func.func @forward
// LOOPS:         func.call @pointwise_0
// LOOPS:         func.call @copy_0
// LOOPS-NEXT:    func.call @loop_0
