"""Kernel libraries and the contract that they are written to."""
