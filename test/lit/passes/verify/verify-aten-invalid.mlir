// RUN: et-opt -p verify-aten --no-verify --split-input-file --verify-diagnostics %s
// RUN: not et-opt -p verify-aten --no-verify --split-input-file %s 2>&1 | filecheck %s

// program_c1: only symbols and methods at module level.
// expected-error@below {{[program_c1] is neither a symbol nor a method}}
%0 = aten.ones {size = [1]} : () -> tensor<1xf32>

// -----

// All problems of a module are reported at once.
program.parameter @weight : tensor<2xf32> = #program.data<f32, [1.0, 2.0]>
program.buffer mutable @state : tensor<2xf32>
// expected-error@below {{[program_c5] @empty has no data}}
program.constant @empty : tensor<2xf32>
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@below {{[program_c2] no parameter, buffer or constant is named @wieght}}
  %0 = program.get @wieght : tensor<2xf32>
  // expected-error@below {{[program_c3] has type tensor<3xf32>, but @weight is tensor<2xf32>}}
  %1 = program.get @weight : tensor<3xf32>
  // expected-error@below {{[program_c4] @state is a mutable buffer}}
  %2 = program.get @state : tensor<2xf32>
  // expected-error@below {{[program_c4] @weight is not a mutable buffer}}
  program.store @weight, %x : tensor<2xf32>
  // expected-error@below {{[aten_c1] belongs to the dialect 'edge', not to the aten level}}
  %3 = edge.relu %x : tensor<2xf32>
  func.return %x : tensor<2xf32>
}
// CHECK: [program_c2] no parameter, buffer or constant is named @wieght
// CHECK: fix: did you mean @weight?
// CHECK: [program_c4] @state is a mutable buffer
// CHECK: fix: read it with program.load
// CHECK: [aten_c1]
// CHECK: fix: the program is past this level: use verify-edge

// -----

// expected-error@below {{[program_c6] method @two has 2 blocks, expected one}}
func.func @two() {
  // expected-error@below {{[aten_c1] belongs to the dialect 'cf'}}
  "cf.br"() [^a] : () -> ()
^a:
  func.return
}

// -----

// expected-error@below {{[program_c7] input 0 of method @forward has type i8}}
func.func @forward(%x: i8) {
  func.return
}

// -----

// expected-error@below {{[program_c7] input 3 of method @forward has type i32}}
func.func @forward(%x: tensor<2xi4>, %y: tensor<1x2x3x4xf32>, %z: tensor<i64>, %n: i32) -> tensor<2xi4> {
  // expected-error@below {{[aten_c2] i4 is not a tensor element type}}
  %0 = aten.relu %x : tensor<2xi4>
  // expected-error@below {{[aten_c3] type tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>> has a layout encoding}}
  %1 = aten.relu %y : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
  // expected-error@below {{[aten_c4] i32 is neither a tensor nor an i64, f64 or i1}}
  %2 = aten.mul.Tensor %y, %n : (tensor<1x2x3x4xf32>, i32) -> tensor<1x2x3x4xf32>
  // expected-error@below {{[aten_c4] a literal is given as a tensor of type tensor<i64>}}
  %3 = aten.mul.Scalar %y {other = %z} : (tensor<1x2x3x4xf32>, tensor<i64>) -> tensor<1x2x3x4xf32>
  func.return %0 : tensor<2xi4>
}

// -----

func.func @program_c8(%x: tensor<4xf32>) {
  %0 = aten.relu %x : tensor<4xf32>
  // expected-error@+1 {{[program_c8] writes to a value that is not an input of the method}}
  program.overwrite %0, %x : tensor<4xf32>
  // expected-error@+1 {{[program_c8] input 0 of the method is overwritten 2 times}}
  program.overwrite %x, %0 : tensor<4xf32>
  // expected-error@+1 {{[program_c8] input 0 of the method is overwritten 2 times}}
  program.overwrite %x, %0 : tensor<4xf32>
  func.return
}

// -----

// expected-error@below {{[program_c11] [guards_c1] guards name 1 inputs, but the method has 2}}
func.func @program_c11(%x: tensor<?xf32>, %y: tensor<?xf32>) attributes {program.guards = #program.guards<(x), "x.shape[0] == 1">} {
  func.return
}

// -----

// expected-error@below {{[program_c11] expected #program.guards, not 1 : i64}}
func.func @program_c11(%x: tensor<?xf32>) attributes {program.guards = 1 : i64} {
  func.return
}

// -----

// expected-error@below {{[program_c12] type tensor<?xf32, #program.sizes<s0 + u1>> has symbols without a range: u1}}
func.func @program_c12(%x: tensor<?xf32, #program.sizes<s0 + u1>>) attributes {program.ranges = #program.ranges<s0 from 2>} {
  func.return
}

// -----

func.func @program_c12(%x: tensor<?xf32>) attributes {program.ranges = #program.ranges<s0 from 2>} {
  // expected-error@below {{[program_c12] type tensor<?xf32, #program.sizes<s0, s0>> has 2 symbolic sizes for 1 '?'}}
  %0 = aten.relu %x : (tensor<?xf32>) -> tensor<?xf32, #program.sizes<s0, s0>>
  func.return
}

// -----

func.func @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @program_c13(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{[program_c13] calls a function}}
  %0 = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// expected-error@below {{[program_c14] [roles_c4] 1 roles for 0 results}}
func.func @program_c14() attributes {program.roles = #program.roles<loss>} {
  func.return
}

// -----

program.buffer mutable @w : tensor<2xf32>
// expected-error@below {{[program_c14] [roles_c4] the gradient of "w" is tensor<f32>, the parameter is tensor<2xf32>}}
func.func @program_c14(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>) attributes {program.roles = #program.roles<loss, gradient "w", parameter "w">} {
  %0 = program.load @w : tensor<2xf32>
  func.return %x, %x, %0 : tensor<f32>, tensor<f32>, tensor<2xf32>
}

// -----

program.buffer mutable @w : tensor<2xf32>
// expected-error@below {{[program_c14] the loss is a tensor<2xf32>}}
// expected-error@below {{[program_c14] the parameter "w" is written by the method that computes its gradient}}
func.func @program_c14(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {program.roles = #program.roles<loss, gradient "w", parameter "w">} {
  %0 = program.load @w : tensor<2xf32>
  program.store @w, %x : tensor<2xf32>
  func.return %x, %x, %0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error@below {{[program_c14] the result for the parameter "w" is not a mutable buffer}}
func.func @program_c14(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) attributes {program.roles = #program.roles<loss, gradient "w", parameter "w">} {
  func.return %x, %x, %x : tensor<f32>, tensor<f32>, tensor<f32>
}
