"""Passes from exported `aten` to Core ATen: folding, decomposition."""
