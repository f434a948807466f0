// RUN: et-opt -p 'reorder{target="abacus"}' --verify-diagnostics %s

// expected-error@unknown {{reorder: unknown target 'abacus', expected one of stock-}}
func.func @forward() {
  func.return
}
