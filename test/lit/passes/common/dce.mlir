// RUN: et-opt -p dce --split-input-file %s | filecheck %s

// Chains of unused ops go at once, random ones too, and then the symbols they read.
// CHECK-NOT: @unused
// CHECK: program.parameter @used
// CHECK: program.buffer mutable @state
// CHECK-LABEL: func.func @forward
program.parameter @unused : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.parameter @used : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.buffer mutable @state : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: program.get @used
  %0 = program.get @unused : tensor<4xf32>
  %1 = aten.relu %0 : tensor<4xf32>
  %2 = aten.rand {size = [4]} : () -> tensor<4xf32>
  %3 = aten.add.Tensor %1, %2 : tensor<4xf32>
  %4 = program.load @state : tensor<4xf32>
  %5 = program.get @used : tensor<4xf32>
  // CHECK-NEXT: func.return
  func.return %5 : tensor<4xf32>
}

// -----

// What is used stays, and what has effects: assertions, writes.
// CHECK-LABEL: func.func @stays
program.buffer mutable @state : tensor<4xf32>
func.func @stays(%x: tensor<4xf32>, %ok: tensor<i1>) -> tensor<2xf32> {
  // CHECK-NEXT: aten.relu
  %0 = aten.relu %x : tensor<4xf32>
  // CHECK-NEXT: program.store @state
  program.store @state, %0 : tensor<4xf32>
  // CHECK-NEXT: aten._assert_async.msg
  aten._assert_async.msg %ok {assert_msg = "must hold"} : (tensor<i1>) -> ()
  // CHECK-NEXT: aten.split.Tensor
  %1, %2 = aten.split.Tensor %x {split_size = 2} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %2 : tensor<2xf32>
}

// -----

// What the caller sees is needed.
// CHECK-LABEL: func.func @overwrite
func.func @overwrite(%x: tensor<4xf32>) {
  // CHECK-NEXT: %0 = aten.relu %x
  // CHECK-NEXT: program.overwrite %x, %0
  %0 = aten.relu %x : tensor<4xf32>
  program.overwrite %x, %0 : tensor<4xf32>
  func.return
}
