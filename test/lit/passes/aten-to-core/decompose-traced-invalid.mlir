// RUN: et-opt -p decompose-traced,verify-core-aten --verify-diagnostics %s

// The number of classes is in the data: there is nothing to trace.
func.func @forward(%x: tensor<4xi64>) -> tensor<4x?xi64> {
  // expected-error @+1 {{[core_aten_c1] is not Core ATen}}
  %0 = aten.one_hot %x {num_classes = -1} : (tensor<4xi64>) -> tensor<4x?xi64>
  func.return %0 : tensor<4x?xi64>
}
