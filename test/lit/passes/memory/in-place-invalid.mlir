// RUN: et-opt -p 'in-place{target="abacus"}' --verify-diagnostics %s

// expected-error@unknown {{in-place: unknown target 'abacus', expected one of stock-1.4, stock-1.4-quantized, et-vm, et-vm-aten}}
executorch.plan @nothing {
  executorch.return
}
