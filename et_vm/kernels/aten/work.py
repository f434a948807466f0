"""Work of torch's operators that do more than visit their arguments: products by the formulas of torch's own counter of
operations, windows by their elements, factorizations by the size of their matrices.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from et_vm.kernels.aten.binding import meta_of
from et_vm.kernels.aten.call import AtenCall
from et_vm.values import Tensor

__all__ = ["units_of_work"]

_CUBIC = ("linalg_", "_linalg_", "cholesky", "geqrf", "lu_", "ormqr", "triangular_solve")
"""Prefixes of the names of operators on matrices."""
_PASSES = 16
"""As many products of matrices take about as long as a factorization in LAPACK's slowest form, that with vectors."""
_PRODUCTS = frozenset({"_int_mm", "dot", "linear", "matmul", "mv", "vdot"})
"""Products along the last dimension of the first tensor, for which torch has no formula."""


def units_of_work(call: AtenCall) -> int:
    """Multiply-adds and visits of elements, beside one of each argument; the outputs have their shapes."""
    name = call.op.name.removeprefix("aten::").partition(".")[0]
    made = sum(out.numel for out in call.outs)
    formula: Any = flop_registry.get(getattr(torch.ops.aten, name, None))
    if formula is not None:
        positional, keywords = call.arguments(meta_of)
        return formula(*positional, **keywords, out_val=meta_of(call.outs[0])) // 2
    tensors = [value for value in call.inputs if isinstance(value, Tensor)]
    if name in _PRODUCTS:
        return made * math.prod(tensors[0].sizes[-1:])
    if name.startswith(_CUBIC):
        return _PASSES * sum(tensor.numel * max(tensor.sizes[-2:], default=1) for tensor in tensors)
    for value, argument in zip(call.inputs, call.op.inputs, strict=True):
        if argument.name == "kernel_size":
            dims = len(call.outs[0].sizes) - 2 if len(value) == 1 else 1
            return made * math.prod(value) ** max(1, dims)
    return 0
