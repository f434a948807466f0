// RUN: not et-translate --mlir-to-pte %S/Inputs/unplanned.mlir -o %t.pte 2>&1 | filecheck %s --check-prefix=PLAN
// RUN: not et-translate --mlir-to-pte %S/Inputs/method.mlir -o %t.pte 2>&1 | filecheck %s --check-prefix=METHOD
// RUN: not et-translate --mlir-to-pte %S/Inputs/symbols.mlir -o %t.pte 2>&1 | filecheck %s --check-prefix=SYMBOLS
// RUN: not cat %t.pte

// PLAN: unplanned.mlir:1:1: error: 'executorch.plan': the memory of @forward is not planned
// PLAN: fix: run plan-memory first
// METHOD: the module has no executorch.plan
// METHOD: fix: run to-out-variant first
// SYMBOLS: symbols.mlir:3:3: error: 'executorch.constant': no parameter, buffer or constant is named @nowhere
// SYMBOLS: symbols.mlir:4:3: error: 'executorch.constant': @empty has no data
// SYMBOLS: symbols.mlir:6:3: error: 'executorch.view': a view needs a register with planned memory
// SYMBOLS: symbols.mlir:7:3: error: 'executorch.delegate_call': no backend.lowered is named @nobody
