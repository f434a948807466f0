"""Result types of torch operators, inferred without torch.

`RULES` maps operator names to functions of shapes and element types, one module a family. `infer` applies
them to an op, of `aten` or of `edge` alike. Sizes that are known are inferred exactly, others are unknown
(`?`); where types cannot be told at all, the answer is `None`. Encodings are not inferred: they are no part
of what an operator computes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from et_ir.dialects.aten.inference import (  # noqa: F401
    backward,  # pyright: ignore[reportUnusedImport]
    convolution,  # pyright: ignore[reportUnusedImport]
    creation,  # pyright: ignore[reportUnusedImport]
    einsum,  # pyright: ignore[reportUnusedImport]
    indexing,  # pyright: ignore[reportUnusedImport]
    matmul,  # pyright: ignore[reportUnusedImport]
    normalization,  # pyright: ignore[reportUnusedImport]
    pointwise,  # pyright: ignore[reportUnusedImport]
    quantized,  # pyright: ignore[reportUnusedImport]
    recurrent,  # pyright: ignore[reportUnusedImport]
    reductions,  # pyright: ignore[reportUnusedImport]
    spectral,  # pyright: ignore[reportUnusedImport]
    views,  # pyright: ignore[reportUnusedImport]
)
from et_ir.dialects.aten.inference.meta import RULES, Meta, read_args, type_of
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES", "infer"]


def infer(op: SchemaOp) -> Sequence[Attribute] | None:
    """The result types of an op, or `None` where no rule tells them.

    Raises `ValueError` if the operator does not take such operands.
    """
    rule = RULES.get(op.name.partition(".")[2])
    if rule is None:
        return None
    found = rule(*read_args(op))
    if isinstance(found, Meta):
        return (type_of(found),)
    if isinstance(found, Attribute):
        return (found,)
    if found is None:
        return None
    return [type_of(item) for item in found]
