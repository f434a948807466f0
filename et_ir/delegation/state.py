"""Mutable buffers that a partition can own."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_ir.dialects.program import LoadOp, StoreOp

__all__ = ["owned_state"]


def owned_state(method: FuncOp) -> frozenset[str]:
    """The buffers that only this method of the program uses, which it reads once and writes once, both in its own
    block. If all that happens in one partition, the buffer can live in the backend.
    """
    module = method.parent_op()
    if not isinstance(module, ModuleOp):
        return frozenset()
    loads: Counter[str] = Counter()
    stores: Counter[str] = Counter()
    here: Counter[str] = Counter()
    for op in module.walk():
        if isinstance(op, LoadOp | StoreOp):
            name = op.symbol.string_value()
            (loads if isinstance(op, LoadOp) else stores)[name] += 1
            here[name] += op.parent_op() is method
    return frozenset(name for name in here if loads[name] == stores[name] == 1 and here[name] == 2)
