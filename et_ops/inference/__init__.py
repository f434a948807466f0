"""Shape rules of operators: result shapes and element types from those of the operands, without torch.

`RULES` maps operator names to functions of shapes and element types, one module a family. Sizes that are known are
inferred exactly, others are `UNKNOWN`; where types cannot be told at all, the answer is `None`. Asking for `RULES`
imports all modules; a reader that needs the rules of one family imports that one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from et_ops.inference.meta import RULES

__all__ = ["RULES", "WITHOUT_RULE"]

WITHOUT_RULE: Final = {
    "a part of a sparse, nested or dual tensor, of which there are no types": """
        _fw_primal_copy _indices_copy _make_dual_copy _nested_get_values_copy _nested_view_from_buffer_copy
        _nested_view_from_jagged_copy _sparse_broadcast_to_copy _values_copy ccol_indices_copy col_indices_copy
        crow_indices_copy indices_copy row_indices_copy values_copy
    """,
    "its result is uint64, which is not an element type": "hash_tensor",
    "one result is a buffer as large as the longest target, and no runtime has a kernel": "_ctc_loss _ctc_loss.Tensor",
}
"""Operators of Core ATen and the edge dialect without a rule, by the reason. Nothing checks ops of them."""

_FAMILIES = """
    backward convolution creation einsum factorization indexing integer matmul normalization pointwise quantized
    recurrent reductions reshaping spectral
"""


def __getattr__(name: str) -> object:
    if name != "RULES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for family in _FAMILIES.split():
        import_module(f"{__name__}.{family}")
    from et_ops.inference.meta import RULES

    globals()[name] = RULES
    return RULES
