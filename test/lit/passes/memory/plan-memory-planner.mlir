// RUN: et-opt -p 'plan-memory{algorithm=none}' --verify-diagnostics %s

// expected-error@unknown {{plan-memory: there is no planner 'none'; there are best, exact, greedy, naive, upstream, or module:function}}
executorch.plan @nothing {
  executorch.return
}
