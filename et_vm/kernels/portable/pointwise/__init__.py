"""Pointwise kernels: arithmetic, comparisons, activations."""
