// RUN: et-opt -p 'kernel-limits{target="stock-1.4"}' --verify-diagnostics %s
// RUN: et-opt -p 'kernel-limits{target="stock-1.5"}' %s | filecheck %s

// Kernels of a release take what those of the one before it do not.
func.func @complex(%x: tensor<2x3xcomplex<f32>>, %y: tensor<3xcomplex<f32>>, %z: tensor<4xf16>, %i: tensor<2xi64>) {
  // CHECK: edge.mul.Tensor
  // expected-error@+1 {{multiplies complex tensors of equal shapes with more than one element only}}
  %0 = edge.mul.Tensor %x, %y : (tensor<2x3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  // expected-error@+1 {{does not convert complex numbers}}
  %1 = edge.dim_order_ops._to_dim_order_copy %z {dtype = complex<f32>} : (tensor<4xf16>) -> tensor<4xcomplex<f32>>
  // expected-error@+1 {{does not copy complex numbers}}
  %2 = edge.dim_order_ops._clone_dim_order %x : tensor<2x3xcomplex<f32>>
  // expected-error@+1 {{does not take complex tensors with all forms of indices}}
  %3 = edge.index.Tensor %x, [%i] : (tensor<2x3xcomplex<f32>>, tensor<2xi64>) -> tensor<2x3xcomplex<f32>>
  func.return
}
