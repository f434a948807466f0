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
