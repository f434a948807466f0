// RUN: et-opt -p fold-batch-norm,dce --split-input-file %s | filecheck %s

program.parameter @w : tensor<2x1x1x1xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @gamma : tensor<2xf32> = #program.data<f32, [3.0, 4.0]>
program.parameter @beta : tensor<2xf32> = #program.data<f32, [0.5, -0.5]>
program.buffer @mean : tensor<2xf32> = #program.data<f32, [1.0, 2.0]>
program.buffer @var : tensor<2xf32> = #program.data<f32, [4.0, 16.0]>
// s = gamma / sqrt(var) = 1.5, 1.0
// CHECK: @w_batch_norm : tensor<2x1x1x1xf32> = #program.data<f32, [1.5, 2.0]>
// CHECK: @w_bias : tensor<2xf32> = #program.data<f32, [-1.0, -2.5]>
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = program.get @w : tensor<2x1x1x1xf32>
  %gamma = program.get @gamma : tensor<2xf32>
  %beta = program.get @beta : tensor<2xf32>
  %mean = program.get @mean : tensor<2xf32>
  %var = program.get @var : tensor<2xf32>
  // CHECK-NEXT: %[[W:.*]] = program.get @w_batch_norm
  // CHECK-NEXT: %[[B:.*]] = program.get @w_bias
  // CHECK-NEXT: %[[Y:.*]] = aten.convolution %x, %[[W]], %[[B]]
  %0 = aten.convolution %x, %w {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1, %2, %3 = aten._native_batch_norm_legit_no_training %0, %gamma, %beta, %mean, %var {momentum = 0.1, eps = 0.0} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<0xf32>, tensor<0xf32>)
  // CHECK-NEXT: func.return %[[Y]]
  func.return %1 : tensor<1x2x4x4xf32>
}

// -----

// A transposed convolution has its output channels second; batch norm without scale and shift.
program.parameter @w : tensor<1x2x1x1xf32> = #program.data<f32, [1.0, 2.0]>
program.parameter @b : tensor<2xf32> = #program.data<f32, [1.0, 1.0]>
program.buffer @mean : tensor<2xf32> = #program.data<f32, [1.0, 3.0]>
program.buffer @var : tensor<2xf32> = #program.data<f32, [4.0, 16.0]>
// CHECK: @w_batch_norm : tensor<1x2x1x1xf32> = #program.data<f32, [0.5, 0.5]>
// CHECK: @b_batch_norm : tensor<2xf32> = #program.data<f32, [0.0, -0.5]>
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = program.get @w : tensor<1x2x1x1xf32>
  %b = program.get @b : tensor<2xf32>
  %mean = program.get @mean : tensor<2xf32>
  %var = program.get @var : tensor<2xf32>
  %0 = aten.conv_transpose2d.input %x, %w, %b : (tensor<1x1x4x4xf32>, tensor<1x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NOT: aten.batch_norm
  %1 = aten.batch_norm %0, none, none, %mean, %var {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: func.return
  func.return %1 : tensor<1x2x4x4xf32>
}

// -----

// A matrix product, here with the transpose of the weight: the weight's rows are scaled.
program.parameter @w : tensor<2x1xf32> = #program.data<f32, [1.0, 2.0]>
program.buffer @mean : tensor<2xf32> = #program.data<f32, [1.0, 3.0]>
program.buffer @var : tensor<2xf32> = #program.data<f32, [4.0, 16.0]>
// CHECK: @w_batch_norm : tensor<2x1xf32> = #program.data<f32, [0.5, 0.5]>
// CHECK: @w_bias : tensor<2xf32> = #program.data<f32, [-0.5, -0.75]>
// CHECK-LABEL: func.func @matrix
func.func @matrix(%x: tensor<3x1xf32>) -> tensor<3x2xf32> {
  %w = program.get @w : tensor<2x1xf32>
  %mean = program.get @mean : tensor<2xf32>
  %var = program.get @var : tensor<2xf32>
  %0 = aten.permute %w {dims = [1, 0]} : (tensor<2x1xf32>) -> tensor<1x2xf32>
  // CHECK: aten.addmm
  %1 = aten.mm %x, %0 : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  // CHECK-NOT: batch_norm
  %2, %3, %4 = aten._native_batch_norm_legit_no_training %1, none, none, %mean, %var {momentum = 0.1, eps = 0.0} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<0xf32>, tensor<0xf32>)
  // CHECK: func.return
  func.return %2 : tensor<3x2xf32>
}

// -----

// Another user of the producer, a used statistic, statistics of the batch, weights that are computed: nothing is folded.
program.parameter @w : tensor<2x1xf32> = #program.data<f32, [1.0, 2.0]>
program.buffer @mean : tensor<2xf32> = #program.data<f32, [1.0, 3.0]>
program.buffer @var : tensor<2xf32> = #program.data<f32, [4.0, 16.0]>
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<3x1xf32>, %v: tensor<2x1xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = program.get @w : tensor<2x1xf32>
  %mean = program.get @mean : tensor<2xf32>
  %var = program.get @var : tensor<2xf32>
  // CHECK-COUNT-3: aten.batch_norm
  %0 = aten.linear %x, %w : (tensor<3x1xf32>, tensor<2x1xf32>) -> tensor<3x2xf32>
  %1 = aten.batch_norm %0, none, none, %mean, %var {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %2 = aten.linear %x, %w : (tensor<3x1xf32>, tensor<2x1xf32>) -> tensor<3x2xf32>
  %3 = aten.batch_norm %2, none, none, %mean, %var {training = true, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %4 = aten.linear %x, %v : (tensor<3x1xf32>, tensor<2x1xf32>) -> tensor<3x2xf32>
  %5 = aten.batch_norm %4, none, none, %mean, %var {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %0, %1, %3, %5 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}
