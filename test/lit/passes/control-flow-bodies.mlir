// Every pass works in branches and bodies.
// RUN: et-opt -p decompose --split-input-file %s | filecheck %s --check-prefix=DECOMPOSE
// RUN: et-opt -p cse,dce --split-input-file %s | filecheck %s --check-prefix=CSE
// RUN: et-opt -p constant-fold,dce --split-input-file %s | filecheck %s --check-prefix=FOLD
// RUN: et-opt -p fold-batch-norm,dce --split-input-file %s | filecheck %s --check-prefix=NORM

program.constant @c : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.parameter @w : tensor<2x2x1x1xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.parameter @g : tensor<2xf32> = #program.data<f32, [1.0, 2.0]>

func.func @forward(%x: tensor<4xf32>, %i: tensor<1x2x3x3xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<1x2x3x3xf32>) {
  %k = aten.exp %x : tensor<4xf32>
  %r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
    %c = program.get @c : tensor<4xf32>
    %d = aten.mul.Tensor %c, %c : tensor<4xf32>
    %e = aten.silu %x : tensor<4xf32>
    %f = aten.add.Tensor %d, %e : tensor<4xf32>
    control.yield %f : tensor<4xf32>
  } else {
    %e = aten.exp %x : tensor<4xf32>
    %unused = aten.log %x : tensor<4xf32>
    %f = aten.add.Tensor %e, %k : tensor<4xf32>
    control.yield %f : tensor<4xf32>
  }
  %n = control.cond %p : tensor<i1> -> (tensor<1x2x3x3xf32>) {
    %w = program.get @w : tensor<2x2x1x1xf32>
    %g = program.get @g : tensor<2xf32>
    %y = aten.convolution %i, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x2x3x3xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x3xf32>
    %z, %m, %v = aten._native_batch_norm_legit_no_training %y, %g, %g, %g, %g {momentum = 0.1, eps = 0.0} : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x3x3xf32>, tensor<0xf32>, tensor<0xf32>)
    control.yield %z : tensor<1x2x3x3xf32>
  } else {
    control.yield %i : tensor<1x2x3x3xf32>
  }
  func.return %r, %n : tensor<4xf32>, tensor<1x2x3x3xf32>
}

// DECOMPOSE: control.cond %p
// DECOMPOSE: aten.sigmoid %x
// DECOMPOSE-NOT: aten.silu

// What is computed outside is not computed again; what is computed in one branch is not there in the other.
// CSE: %k = aten.exp %x
// CSE-NEXT: control.cond
// CSE-NOT: aten.exp
// CSE-NOT: aten.log
// CSE: } else {
// CSE-NEXT: %f_1 = aten.add.Tensor %k, %k
// CSE-NEXT: control.yield %f_1

// FOLD: program.constant @{{.*}} : tensor<4xf32> = #program.data<f32, [1.0, 4.0, 9.0, 16.0]>
// FOLD: control.cond
// FOLD-NEXT: program.get
// FOLD-NEXT: aten.silu
// FOLD-NEXT: aten.add.Tensor

// NORM: aten.convolution
// NORM-NOT: batch_norm
// NORM: control.yield
