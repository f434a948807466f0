"""Passes of the native backend, from kernels to xDSL's `llvm` dialect."""
