// RUN: et-opt -p 'in-place{target="abacus"}' --verify-diagnostics %s

// expected-error@unknown {{in-place: unknown target 'abacus', expected one of stock-}}
executorch.plan @nothing {
  executorch.return
}
