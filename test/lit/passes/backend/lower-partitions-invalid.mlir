// RUN: et-opt -p lower-partitions --split-input-file --verify-diagnostics %s

func.func @fails(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-error@+1 {{the backend 'NestedProgramBackend' cannot compile it}}
  %a = backend.partition "NestedProgramBackend" specs [#backend.compile_spec<"target", "stock-{{[0-9.]+}}">](%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  ^bb0(%y: tensor<4xcomplex<f32>>):
    %z = edge.cumprod %y {dim = 0} : tensor<4xcomplex<f32>>
    backend.yield %z : tensor<4xcomplex<f32>>
  }
  func.return %a : tensor<4xcomplex<f32>>
}
