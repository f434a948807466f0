// RUN: et-opt -p 'plan-memory{algorithm=none}' --verify-diagnostics %s

// expected-error@unknown {{plan-memory: unknown planner 'none'; planners are best, exact, greedy, naive, upstream, or module:function}}
executorch.plan @nothing {
  executorch.return
}
