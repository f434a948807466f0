"""Tensors made of scalars and random numbers."""
