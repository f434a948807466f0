// RUN: et-opt -p kernel-limits --split-input-file --verify-diagnostics %s

func.func @types(%x: tensor<4xcomplex<f32>>, %y: tensor<4xf32>) -> (tensor<4xcomplex<f32>>, tensor<4xf32>) {
  // expected-error@+1 {{the kernel 'aten::sin.out' of 'stock-1.4' takes no complex<f32> for 'self'}}
  %0 = edge.sin %x : tensor<4xcomplex<f32>>
  %1 = edge.sin %y : tensor<4xf32>
  func.return %0, %1 : tensor<4xcomplex<f32>>, tensor<4xf32>
}
