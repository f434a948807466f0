"""Reductions, softmax and normalizations, and their gradients."""
