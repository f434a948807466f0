"""Analyses that passes share: liveness, size bounds, memory graphs, costs. They change nothing."""
