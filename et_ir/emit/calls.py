"""Reading a kernel's arguments back: which of them are outs, which are returns.

The file gives one list of values per call, the operator's arguments and then its returns. Which is which
follows from how that list ends (see `emit.py` for how it is made).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from et_ops.calls import is_in_place, returns_nothing
from et_schema.program import KernelTypes, Tensor, TensorList

__all__ = ["CallShape", "call_shape"]


@dataclass(frozen=True, slots=True)
class CallShape:
    """A call's values by role; `list_out` says that the outs are one argument."""

    arguments: tuple[int, ...]
    outs: tuple[int, ...] = ()
    returns: tuple[int, ...] = ()
    list_out: bool = False


def call_shape(operator: str, ids: Sequence[int], values: Sequence[KernelTypes | None]) -> CallShape:
    """The roles of a call's values; `ids` are indices of `values`."""
    ids = tuple(ids)
    if not ids or returns_nothing(operator):
        return CallShape(ids)
    last = values[ids[-1]]
    if is_in_place(operator) and isinstance(last, Tensor):
        return CallShape(ids[:-1], returns=ids[-1:])
    if isinstance(last, Tensor) and ids[-2:-1] == ids[-1:]:
        return CallShape(ids[:-2], outs=ids[-1:])
    if isinstance(last, TensorList):
        items = tuple(last.items)
        before = values[ids[-2]] if len(ids) > 1 else None
        if isinstance(before, TensorList) and tuple(before.items) == items:
            return CallShape(ids[:-2], outs=items, list_out=True)
        if len(items) > 1 and ids[-1 - len(items) : -1] == items:
            return CallShape(ids[: -1 - len(items)], outs=items)
        return CallShape(ids)
    if last is None or hasattr(last, "items"):
        # Lists are no registers: an operator that is not known to return anything.
        return CallShape(ids)
    return CallShape(ids[:-1], returns=ids[-1:])
