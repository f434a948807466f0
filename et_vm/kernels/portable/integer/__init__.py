"""Arithmetic on quantized tensors in integers: sums are exact, and rounded once."""
