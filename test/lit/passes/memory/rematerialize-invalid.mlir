// RUN: et-opt -p 'rematerialize{target="abacus"}' --verify-diagnostics %s

// expected-error@unknown {{rematerialize: unknown target 'abacus', expected one of stock-}}
func.func @forward() {
  func.return
}
