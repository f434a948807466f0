"""Reference semantics: values of operators on constants, and of whole programs on inputs.

`constant-fold` and `fold-batch-norm` compute with numpy arrays (`arrays.py`): operators that move data, convert it or
do plain arithmetic are evaluated in numpy (`numpy_kernels.py`), all others by torch (`torch_kernels.py`), which is
imported only then. `evaluator.py` runs programs above the executorch level, op by op in torch.
"""
