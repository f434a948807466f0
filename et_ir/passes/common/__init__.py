"""Passes for programs of any level above `executorch`: CSE, DCE, canonicalization, constant folding."""
