"""Shape rules of operators: result shapes and element types from those of the operands, without torch.

`RULES` maps operator names to functions of shapes and element types, one module a family. Sizes that are known are
inferred exactly, others are `UNKNOWN`; where types cannot be told at all, the answer is `None`. Asking for `RULES`
imports all modules; a reader that needs the rules of one family imports that one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_ops.inference.meta import RULES

__all__ = ["RULES"]

_FAMILIES = """
    backward convolution creation einsum factorization indexing matmul normalization pointwise quantized recurrent
    reductions reshaping spectral
"""


def __getattr__(name: str) -> object:
    if name != "RULES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for family in _FAMILIES.split():
        import_module(f"{__name__}.{family}")
    from et_ops.inference.meta import RULES

    globals()[name] = RULES
    return RULES
