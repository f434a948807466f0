"""Load-time verification: plans, tensors, data flow, liveness and guards."""
