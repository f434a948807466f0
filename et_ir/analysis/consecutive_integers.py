"""Vectors of consecutive integers: positions of tokens, places of a cache.

`arange(T) + start` holds `start`, `start + 1` and so on. A vector is a tensor of rank 1.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final, NamedTuple

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import LiteralOp
from et_ir.dialects.schema.inference import meta_of
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import is_tensor, sizes_of, tensor_type
from et_ops.dtypes import I64

__all__ = ["Along", "FirstElement", "first_of_consecutive", "laid_along", "original"]

_COPIES: Final = (
    aten.AliasOp,
    aten.CloneOp,
    aten.ContiguousOp,
    aten.DetachOp,
    aten.LiftFreshCopyOp,
    aten.ToDeviceOp,
    aten.ToDtypeLayoutOp,
    aten.ToDtypeOp,
    aten.UnderscoreToCopyOp,
)


class FirstElement(NamedTuple):
    """A number that is computed: the only element of a tensor of rank 0, or the first of a vector."""

    tensor: SSAValue


class Along(NamedTuple):
    """A vector along one dimension of a tensor, repeated along the others."""

    dim: int
    """The dimension, counted from the last, -1."""
    vector: SSAValue


def original(value: SSAValue) -> SSAValue:
    """The value that a value of the same type is a copy of; itself if it is none."""
    while True:
        op = value.owner
        if isinstance(op, aten.CopyOp):
            source = op.src
        elif isinstance(op, _COPIES):
            source = op.operands[0]
        else:
            return value
        if source.type != value.type:
            return value
        value = source


def laid_along(value: SSAValue) -> Along | None:
    """The vector that a tensor repeats, as far as `unsqueeze` and `expand` have laid it out."""
    value = original(value)
    rank = meta_of(value.type).rank
    if rank == 1:
        return Along(-1, value)
    op = value.owner
    if not isinstance(op, aten.UnsqueezeOp | aten.ExpandOp):
        return None
    found = laid_along(op.self)
    if found is None:
        return None
    if isinstance(op, aten.UnsqueezeOp):
        inserted = op.dim % rank - rank
        return Along(found.dim if found.dim > inserted else found.dim - 1, found.vector)
    before, after = (sizes_of(tensor_type(one))[found.dim] for one in (op.self, value))
    # One number that is repeated is no vector.
    return found if before is not None and before == after else None


def first_of_consecutive(vector: SSAValue, assumed: Set[SSAValue] = frozenset()) -> FirstElement | int | None:
    """The first of the consecutive integers that a vector holds; `None` if it is not known to hold such.

    A vector of one element does, and those in `assumed` do by assumption.
    """
    meta = meta_of(vector.type)
    if meta.rank != 1 or meta.dtype is not I64:
        return None
    vector = original(vector)
    op = vector.owner
    if isinstance(op, aten.ArangeOp):
        return 0
    if isinstance(op, aten.ArangeStartOp):
        return op.start if isinstance(op.start, int) else None
    if isinstance(op, aten.AddTensorOp) and op.alpha == 1:
        for integers, other in ((op.self, op.other), (op.other, op.self)):
            number = _number(other)
            first = None if number is None else first_of_consecutive(integers, assumed)
            if number is not None and first is not None:
                return _sum(first, number)
    if meta.shape[0] == 1 or vector in assumed:
        return FirstElement(vector)
    return None


def _number(value: SSAValue) -> FirstElement | int | None:
    """The integer that an operand of an addition is, if it is one."""
    if isinstance(value.owner, LiteralOp):
        number = literal_of(value.owner.value)
        return number if isinstance(number, int) and not isinstance(number, bool) else None
    if not is_tensor(value.type) or meta_of(value.type).dtype is not I64 or meta_of(value.type).rank:
        return None
    value = original(value)
    op = value.owner
    if isinstance(op, aten.SelectIntOp) and op.index == 0 and meta_of(op.self.type).rank == 1:
        return FirstElement(original(op.self))
    return FirstElement(value)


def _sum(first: FirstElement | int, second: FirstElement | int) -> FirstElement | int | None:
    """Their sum, where it is one of them or known."""
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    return first if second == 0 else second if first == 0 else None
