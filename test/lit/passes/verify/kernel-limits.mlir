// RUN: et-opt -p kernel-limits --split-input-file --verify-diagnostics %s

func.func @types(%x: tensor<4xcomplex<f32>>, %y: tensor<4xf32>) -> (tensor<4xcomplex<f32>>, tensor<4xf32>) {
  // expected-error@+1 {{takes no complex<f32> for 'self'}}
  %0 = edge.sin %x : tensor<4xcomplex<f32>>
  %1 = edge.sin %y : tensor<4xf32>
  func.return %0, %1 : tensor<4xcomplex<f32>>, tensor<4xf32>
}

// -----

func.func @complex(%x: tensor<?xcomplex<f32>>, %y: tensor<1xcomplex<f32>>, %z: tensor<?xf32>, %i: tensor<?xi64>,
                   %w: tensor<?x?xcomplex<f32>>) {
  // expected-error@+1 {{multiplies complex tensors with more than one element only}}
  %0 = edge.mul.Tensor %x, %y : (tensor<?xcomplex<f32>>, tensor<1xcomplex<f32>>) -> tensor<?xcomplex<f32>>
  // expected-error@+1 {{computes only half of the transform}}
  %1 = edge._fft_r2c %z {dim = [0], normalization = 0, onesided = false} : (tensor<?xf32>) -> tensor<?xcomplex<f32>>
  // expected-error@+1 {{does not convert complex numbers}}
  %2 = edge.dim_order_ops._to_dim_order_copy %i {dtype = complex<f32>} : (tensor<?xi64>) -> tensor<?xcomplex<f32>>
  // expected-error@+1 {{does not take complex tensors with all forms of indices}}
  %3 = edge.index.Tensor %w, [%i, %i] : (tensor<?x?xcomplex<f32>>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xcomplex<f32>>
  func.return
}

// -----

func.func @gradients(%g: tensor<1x2x3x3x3xf32>, %x: tensor<1x2x5x5x5xf32>, %w: tensor<2x2x3x3x3xf32>,
                     %line: tensor<?x2x3xf32>, %signal: tensor<?x2x5xf32>, %v: tensor<2x2x3xf32>,
                     %image: tensor<?x2x7x7xf32>, %small: tensor<?x2x5x5xf32>, %u: tensor<2x2x3x3xf32>) {
  // expected-error@+1 {{takes a 4-d 'input', not rank 5}}
  %0:3 = edge.convolution_backward %g, %x, %w {bias_sizes = [2], stride = [1, 1, 1], padding = [0, 0, 0], dilation = [1, 1, 1], transposed = false, output_padding = [0, 0, 0], groups = 1, output_mask = [true, true, true]} : (tensor<1x2x3x3x3xf32>, tensor<1x2x5x5x5xf32>, tensor<2x2x3x3x3xf32>) -> (tensor<1x2x5x5x5xf32>, tensor<2x2x3x3x3xf32>, tensor<2xf32>)
  // expected-error@+1 {{takes a 4-d 'input', not rank 3}}
  %1:3 = edge.convolution_backward %line, %signal, %v {bias_sizes = [2], stride = [1], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 1, output_mask = [true, true, true]} : (tensor<?x2x3xf32>, tensor<?x2x5xf32>, tensor<2x2x3xf32>) -> (tensor<?x2x5xf32>, tensor<2x2x3xf32>, tensor<2xf32>)
  // expected-error@+1 {{does not take transposed convolutions}}
  %2:3 = edge.convolution_backward %image, %small, %u {bias_sizes = [2], stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1, output_mask = [true, true, true]} : (tensor<?x2x7x7xf32>, tensor<?x2x5x5xf32>, tensor<2x2x3x3xf32>) -> (tensor<?x2x5x5xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>)
  %3:3 = edge.convolution_backward %small, %image, %u {bias_sizes = [2], stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1, output_mask = [true, true, true]} : (tensor<?x2x5x5xf32>, tensor<?x2x7x7xf32>, tensor<2x2x3x3xf32>) -> (tensor<?x2x7x7xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>)
  func.return
}
