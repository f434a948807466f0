"""Values of operators on constants: what `constant-fold` and `fold-batch-norm` compute with.

Constants are numpy arrays here (`arrays.py`). Operators that move data, convert it or do plain arithmetic are
evaluated in numpy (`numpy_kernels.py`), all others by torch (`torch_kernels.py`), which is imported only
then.
"""
