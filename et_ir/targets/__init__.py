"""What target runtimes can execute: one manifest of kernels per target, kept as sorted text."""
