// RUN: et-opt -p 'reorder{target="abacus"}' --verify-diagnostics %s

// expected-error@unknown {{reorder: unknown target 'abacus', expected one of stock-1.4, stock-1.4-quantized, et-vm, et-vm-aten}}
func.func @forward() {
  func.return
}
