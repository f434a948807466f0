// RUN: et-opt -p 'partition{backend="nested:without=neg+sort"},verify-backend' --split-input-file %s | filecheck %s

// Constants are read inside, also by several partitions. What is not taken stays, before or behind.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    %a = backend.partition "NestedProgramBackend" specs [#backend.compile_spec<"target", "et-vm">, #backend.compile_spec<"share", "1">](%x) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^{{.*}}(%x_1: tensor<4xf32>):
// CHECK-NEXT:      %w = program.get @w : tensor<4xf32>
// CHECK-NEXT:      %a_1 = edge.add.Tensor %x_1, %w : tensor<4xf32>
// CHECK-NEXT:      backend.yield %a_1 : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %b = edge.neg %a : tensor<4xf32>
// CHECK-NEXT:    %d = backend.partition
// CHECK-SAME:    (%b) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^{{.*}}(%b_1: tensor<4xf32>):
// CHECK-NEXT:      %c = edge.relu %b_1 : tensor<4xf32>
// CHECK-NEXT:      %w = program.get @w : tensor<4xf32>
// CHECK-NEXT:      %d_1 = edge.add.Tensor %c, %w : tensor<4xf32>
// CHECK-NEXT:      backend.yield %d_1 : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %d : tensor<4xf32>
program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
func.func @constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = program.get @w : tensor<4xf32>
  %a = edge.add.Tensor %x, %w : tensor<4xf32>
  %b = edge.neg %a : tensor<4xf32>
  %c = edge.relu %b : tensor<4xf32>
  %d = edge.add.Tensor %c, %w : tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// -----

// A path that leaves and comes back parts what it goes around: %a and %c are no one partition.
// CHECK-LABEL: func.func @convex
// CHECK:         backend.partition
// CHECK:           edge.relu
// CHECK-NEXT:      backend.yield
// CHECK:         edge.neg
// CHECK-NEXT:    backend.partition
// CHECK:           edge.add.Tensor
// CHECK-NEXT:      backend.yield
func.func @convex(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = edge.relu %x : tensor<4xf32>
  %b = edge.neg %a : tensor<4xf32>
  %c = edge.add.Tensor %a, %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

// What depends on little waits for what uses it: one partition, behind the op that is not taken.
// CHECK-LABEL: func.func @merged
// CHECK-NEXT:    %b = edge.neg %x : tensor<4xf32>
// CHECK-NEXT:    %c = backend.partition
// CHECK:           edge.relu
// CHECK-NEXT:      edge.add.Tensor
// CHECK-NOT:     backend.partition
func.func @merged(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = edge.relu %x : tensor<4xf32>
  %b = edge.neg %x : tensor<4xf32>
  %c = edge.add.Tensor %a, %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

// Sizes are computed inside, with what is said of them.
// CHECK-LABEL: func.func @sizes
// CHECK:         backend.partition
// CHECK:         ^{{.*}}(%x_1: tensor<?x4xf32>):
// CHECK-NEXT:      %n = edge.sym_size.int %x_1 {dim = 0} : (tensor<?x4xf32>) -> i64
// CHECK-NEXT:      program.range %n from 0 to 8
// CHECK-NEXT:      %v_1 = edge.view_copy %x_1 {size = [%n, 2, 2]}
// CHECK:         edge.sym_size.int %x
// CHECK-NEXT:    program.range
func.func @sizes(%x: tensor<?x4xf32>) -> tensor<?x2x2xf32> {
  %n = edge.sym_size.int %x {dim = 0} : (tensor<?x4xf32>) -> i64
  program.range %n from 0 to 8
  %v = edge.view_copy %x {size = [%n, 2, 2]} : (tensor<?x4xf32>, i64) -> tensor<?x2x2xf32>
  func.return %v : tensor<?x2x2xf32>
}

// -----

// A branch that has something that is not taken stays; there are partitions in it. The loop goes as a whole.
// CHECK-LABEL: func.func @control
// CHECK-NEXT:    %r = control.cond %p
// CHECK-NEXT:      backend.partition
// CHECK:             edge.relu
// CHECK:           control.yield
// CHECK-NEXT:    } else {
// CHECK-NEXT:      edge.neg
// CHECK:         backend.partition
// CHECK:           control.map
// CHECK:           control.yield
// CHECK:           backend.yield
func.func @control(%x: tensor<4xf32>, %xs: tensor<3x4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
    %a = edge.relu %x : tensor<4xf32>
    control.yield %a : tensor<4xf32>
  } else {
    %b = edge.neg %x : tensor<4xf32>
    control.yield %b : tensor<4xf32>
  }
  %s = control.map over (%xs) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
  ^bb0(%y: tensor<4xf32>):
    %z = edge.add.Tensor %y, %x : tensor<4xf32>
    control.yield %z : tensor<4xf32>
  }
  func.return %r, %s : tensor<4xf32>, tensor<3x4xf32>
}

// -----

// A buffer that one partition reads and writes is its own. One that something else uses, too, is not.
// CHECK-LABEL: func.func @state
// CHECK-NEXT:    %q = program.load @shared
// CHECK:         backend.partition
// CHECK:           %c = program.load @count : tensor<4xf32>
// CHECK:           program.store @count
// CHECK-NOT:       program.store
// CHECK:           backend.yield
// CHECK:         program.store @shared
// CHECK-LABEL: func.func @other
program.buffer mutable @count : tensor<4xf32>
program.buffer mutable @shared : tensor<4xf32>
func.func @state(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = program.load @count : tensor<4xf32>
  %q = program.load @shared : tensor<4xf32>
  %n = edge.add.Tensor %c, %x : tensor<4xf32>
  %m = edge.add.Tensor %q, %n : tensor<4xf32>
  program.store @count, %n : tensor<4xf32>
  program.store @shared, %m : tensor<4xf32>
  func.return %m : tensor<4xf32>
}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %q = program.load @shared : tensor<4xf32>
  func.return %q : tensor<4xf32>
}

// -----

// A store stays behind the loads before it, also where partitions are in between: %l is the old value.
// CHECK-LABEL: func.func @order
// CHECK-NEXT:    %l = program.load @s : tensor<4xf32>
// CHECK-NEXT:    backend.partition
// CHECK:         program.store @s, %x : tensor<4xf32>
// CHECK-NEXT:    %k = program.load @s : tensor<4xf32>
// CHECK:         func.return
program.buffer mutable @s : tensor<4xf32>
func.func @order(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %l = program.load @s : tensor<4xf32>
  %a = edge.relu %l : tensor<4xf32>
  program.store @s, %x : tensor<4xf32>
  %k = program.load @s : tensor<4xf32>
  %b = edge.neg %k : tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// Nothing is taken, and nothing changes.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    %a = edge.neg %x : tensor<4xf32>
// CHECK-NEXT:    %n = edge._local_scalar_dense %i : (tensor<i64>) -> i64
// CHECK-NEXT:    program.range %n from 0 to 4
// CHECK-NEXT:    %b = edge.full {size = [%n], fill_value = 1.0, dtype = f32} : (i64) -> tensor<?xf32>
// CHECK-NEXT:    func.return
func.func @nothing(%x: tensor<4xf32>, %i: tensor<i64>) -> (tensor<4xf32>, tensor<?xf32>) {
  %a = edge.neg %x : tensor<4xf32>
  %n = edge._local_scalar_dense %i : (tensor<i64>) -> i64
  program.range %n from 0 to 4
  %b = edge.full {size = [%n], fill_value = 1.0, dtype = f32} : (i64) -> tensor<?xf32>
  func.return %a, %b : tensor<4xf32>, tensor<?xf32>
}
