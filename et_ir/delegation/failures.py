"""Failures of backends: what one cannot compile is marked, and left to others, or to kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from et_ir.delegation.specs import PartitionResult
from et_ir.delegation.tags import DELEGATION_TAG, tag_of
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.backend.attributes import FAILED_BACKENDS

__all__ = ["clear_failures", "mark_failures", "without_failed"]


def mark_failures(ops: Iterable[Operation], backend: str) -> None:
    """Note that a backend has failed to compile a partition of ops."""
    for op in ops:
        op.attributes[FAILED_BACKENDS] = ArrayAttr([*_failed(op), StringAttr(backend)])


def clear_failures(op: Operation) -> None:
    """Take the marks from an op and all that is in it."""
    for inner in op.walk():
        inner.attributes.pop(FAILED_BACKENDS, None)


def without_failed(method: FuncOp, result: PartitionResult) -> PartitionResult:
    """A decision without the partitions that have ops whose backend has failed to compile them."""
    specs = result.partition_tags
    by_tag: dict[str, list[Operation]] = {}
    dropped: set[str] = set()
    for op in method.walk():
        name = tag_of(op)
        spec = None if name is None else specs.get(name)
        if name is None or spec is None:
            continue
        by_tag.setdefault(name, []).append(op)
        if StringAttr(spec.backend_id) in _failed(op):
            dropped.add(name)
    refusals = dict(result.refusals)
    for name in dropped:
        for op in by_tag[name]:
            del op.attributes[DELEGATION_TAG]
            refusals[op] = Diagnostic("the backend failed", specs[name].backend_id)
    kept = {name: spec for name, spec in specs.items() if name not in dropped}
    return PartitionResult(result.tagged, kept, refusals, result.failures)


def _failed(op: Operation) -> tuple[StringAttr, ...]:
    attribute = op.attributes.get(FAILED_BACKENDS)
    if not isinstance(attribute, ArrayAttr):
        return ()
    return tuple(one for one in cast("ArrayAttr[Attribute]", attribute) if isinstance(one, StringAttr))
