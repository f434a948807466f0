// RUN: et-opt -p 'plan-memory{alignment=24}' --verify-diagnostics %s

// expected-error@unknown {{plan-memory: an alignment of 24 bytes is not a power of two}}
executorch.plan @nothing {
  executorch.return
}
