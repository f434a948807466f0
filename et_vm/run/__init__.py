"""Execution: a method's registers, linked kernels, prepared steps and interpreter loops."""
