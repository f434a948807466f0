// RUN: et-opt -p fold-state,dce --split-input-file %s | filecheck %s
// RUN: et-opt -p 'fold-state{dead=true},dce' --split-input-file %s | filecheck %s --check-prefix=DEAD

// State that is given its own value, and state that nothing is stored to, are constants; zeros too.
// CHECK: program.buffer @same : tensor<f32> = #program.data<f32, [2.0]>
// CHECK: program.buffer @read : tensor<2xf32> = #program.data<f32, [0.0, 0.0]>
// CHECK: program.buffer mutable @large : tensor<20000xf32>
// CHECK-LABEL: func.func @constant
// DEAD: program.buffer @same
// DEAD: program.buffer @read
// DEAD: program.buffer mutable @large
program.buffer mutable @same : tensor<f32> = #program.data<f32, [2.0]>
program.buffer mutable @read : tensor<2xf32>
program.buffer mutable @large : tensor<20000xf32>
func.func @constant(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<20000xf32>) {
  // CHECK-NEXT: program.get @same
  %0 = program.load @same : tensor<f32>
  // CHECK-NEXT: program.get @read
  %1 = program.load @read : tensor<2xf32>
  // CHECK-NEXT: program.load @large
  %2 = program.load @large : tensor<20000xf32>
  %3 = aten.mul.Tensor %x, %0 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = aten.add.Tensor %3, %1 : tensor<2xf32>
  %5 = aten.relu %2 : tensor<20000xf32>
  // CHECK-NOT: program.store
  // CHECK: func.return
  // DEAD: func.return
  program.store @same, %0 : tensor<f32>
  func.return %4, %5 : tensor<2xf32>, tensor<20000xf32>
}

// -----

// What only counts itself, what is noted and never read, and what is computed from those.
// CHECK: program.buffer mutable @count
// CHECK: program.buffer mutable @last
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-3: program.store
// DEAD-NOT: program.buffer
// DEAD-LABEL: func.func @forward
// DEAD-NEXT: %[[R:.*]] = aten.relu %x
// DEAD-NEXT: func.return %[[R]]
program.buffer mutable @count : tensor<i64>
program.buffer mutable @last : tensor<2xf32>
program.buffer mutable @twice : tensor<i64>
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  %n = program.load @count : tensor<i64>
  %1 = aten.add.Scalar %n {other = 1} : tensor<i64>
  %2 = aten.relu %x : tensor<2xf32>
  %3 = aten.neg %2 : tensor<2xf32>
  %4 = aten.mul.Scalar %n {other = 2} : tensor<i64>
  program.store @count, %1 : tensor<i64>
  program.store @last, %3 : tensor<2xf32>
  program.store @twice, %4 : tensor<i64>
  func.return %2 : tensor<2xf32>
}

// -----

// State that another method returns, that other state of this kind depends on, that an assertion looks at, and what is
// stored into another buffer.
// DEAD: program.buffer mutable @sum
// DEAD: program.buffer mutable @step
// DEAD: program.buffer mutable @checked
// DEAD: program.buffer mutable @a
// DEAD: program.buffer mutable @b
// DEAD-LABEL: func.func @forward
// DEAD-COUNT-5: program.store
program.buffer mutable @sum : tensor<i64>
program.buffer mutable @step : tensor<i64>
program.buffer mutable @checked : tensor<i64>
program.buffer mutable @a : tensor<2xf32>
program.buffer mutable @b : tensor<2xf32>
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  %sum = program.load @sum : tensor<i64>
  %step = program.load @step : tensor<i64>
  %checked = program.load @checked : tensor<i64>
  %a = program.load @a : tensor<2xf32>
  %b = program.load @b : tensor<2xf32>
  %1 = aten.add.Tensor %sum, %step : tensor<i64>
  %2 = aten.add.Scalar %step {other = 1} : tensor<i64>
  %3 = aten.add.Scalar %checked {other = 1} : tensor<i64>
  %ok = aten.lt.Scalar %checked {other = 100} : (tensor<i64>) -> tensor<i1>
  aten._assert_async.msg %ok {assert_msg = "once too often"} : (tensor<i1>) -> ()
  program.store @sum, %1 : tensor<i64>
  program.store @step, %2 : tensor<i64>
  program.store @checked, %3 : tensor<i64>
  program.store @a, %b : tensor<2xf32>
  program.store @b, %x : tensor<2xf32>
  func.return %a : tensor<2xf32>
}
func.func @total() -> tensor<i64> {
  %sum = program.load @sum : tensor<i64>
  %0 = aten.neg %sum : tensor<i64>
  func.return %0 : tensor<i64>
}

// -----

// One that is stored twice, and one that a second method changes.
// CHECK: program.buffer mutable @first
// CHECK: program.buffer mutable @second
// CHECK-LABEL: func.func @both
// CHECK-NEXT: program.load
// CHECK-NEXT: program.store
// CHECK-NEXT: program.store
program.buffer mutable @first : tensor<2xf32>
program.buffer mutable @second : tensor<2xf32>
func.func @both(%x: tensor<2xf32>) {
  %0 = program.load @first : tensor<2xf32>
  program.store @first, %x : tensor<2xf32>
  program.store @first, %0 : tensor<2xf32>
  func.return
}
func.func @reads() -> tensor<2xf32> {
  %0 = program.load @second : tensor<2xf32>
  program.store @second, %0 : tensor<2xf32>
  %1 = aten.neg %0 : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func @writes(%x: tensor<2xf32>) {
  program.store @second, %x : tensor<2xf32>
  func.return
}

// -----

// A parameter is changed by an optimizer.
// CHECK: program.buffer mutable @w
// CHECK-LABEL: func.func @trained
// DEAD: program.buffer mutable @w
program.buffer mutable @w : tensor<f32>
func.func @trained(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) attributes {program.roles = #program.roles<loss, gradient "w", parameter "w">} {
  %0 = program.load @w : tensor<f32>
  %1 = aten.mul.Tensor %x, %0 : tensor<f32>
  func.return %1, %x, %0 : tensor<f32>, tensor<f32>, tensor<f32>
}
