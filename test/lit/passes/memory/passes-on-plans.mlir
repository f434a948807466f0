// Passes that run on plans say so for a module that has none.
// RUN: et-opt -p plan-memory --verify-diagnostics %s
// RUN: et-opt -p in-place --verify-diagnostics %s
// RUN: et-opt -p write-back --verify-diagnostics %s
// RUN: et-opt -p free-unbounded --verify-diagnostics %s
// RUN: et-opt -p copies-to-views --verify-diagnostics %s
// RUN: et-opt -p update-in-place --verify-diagnostics %s
// RUN: et-opt -p concatenate-in-place --verify-diagnostics %s
// RUN: et-opt -p form-chains --verify-diagnostics %s
// RUN: et-opt -p verify-chains --verify-diagnostics %s
// RUN: et-opt -p externalize-constants --verify-diagnostics %s
// RUN: et-opt -p link-check --verify-diagnostics %s
// RUN: et-opt -p raise-plans --verify-diagnostics %s

// expected-error@below {{runs on plans, and this method is not lowered to one}}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.neg %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
