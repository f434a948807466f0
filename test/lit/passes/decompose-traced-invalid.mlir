// RUN: et-opt -p decompose-traced,verify-core-aten --verify-diagnostics %s

func.func @forward(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{[core_aten_c1] is not Core ATen}}
  %0 = aten.celu %x : tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
