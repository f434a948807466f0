"""Code generation of kernels: one module for each loop structure, which makes `scf`, `memref` and `vector` ops."""
