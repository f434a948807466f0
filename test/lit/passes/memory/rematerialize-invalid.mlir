// RUN: et-opt -p 'rematerialize{target="abacus"}' --verify-diagnostics %s

// expected-error@unknown {{rematerialize: unknown target 'abacus', expected one of stock-1.4, stock-1.4-quantized, et-vm, et-vm-aten}}
func.func @forward() {
  func.return
}
