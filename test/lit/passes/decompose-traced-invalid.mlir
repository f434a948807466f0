// RUN: et-opt -p decompose-traced,verify-core-aten --verify-diagnostics %s

func.func @forward(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<4xi64>, tensor<0xi64>) {
  // expected-error @+1 {{[core_aten_c1] is not Core ATen}}
  %0, %1, %2 = aten._unique2 %x : (tensor<4xf32>) -> (tensor<?xf32>, tensor<4xi64>, tensor<0xi64>)
  func.return %0, %1, %2 : tensor<?xf32>, tensor<4xi64>, tensor<0xi64>
}
