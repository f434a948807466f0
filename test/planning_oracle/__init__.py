"""Memory planning against an independent exact answer: random instances, and OR-tools' CP-SAT solver."""
