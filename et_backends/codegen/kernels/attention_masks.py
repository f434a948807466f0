"""Keys that masks of attention exclude: by constants, and by bounds of positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from et_backends.codegen.elements import element_of
from et_backends.codegen.kernels.attention_operands import Attention
from et_backends.codegen.kernels.host import Host
from et_backends.codegen.kernels.panels import constant_array, constant_integers
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_backends.codegen.sizes import Size, shape_of
from et_ir.dialects.schema import SchemaOp

__all__ = ["MASKED", "KeyBound", "bounds_of_keys", "reach_of_queries"]

_BOUNDS: Final = {"le.Tensor": (1, 1), "lt.Tensor": (1, 0), "ge.Tensor": (-1, 1), "gt.Tensor": (-1, 0)}
"""Comparisons of the numbers of keys with a bound: the step by which operands are in this order, and 1 if they may be
equal.
"""
MASKED: Final = -1e30
"""Largest mask value that excludes a key from the softmax."""


@dataclass(frozen=True)
class KeyBound:
    """A number that a mask compares the numbers of keys with; it excludes keys that are larger."""

    number: SSAValue
    """`[…, 1]`, of i32 or i64."""
    beyond: int
    """1 where the key of this number is not excluded, else 0."""


def reach_of_queries(
    host: Host, attention: Attention, outside: Mapping[SSAValue, SSAValue], queries: Size, keys: int
) -> int | None:
    """How far beyond its own number a query reads keys, by constant masks that are added; None for all keys."""
    found: int | None = None
    for operand in attention.added:
        array = constant_array(host, outside[operand]) if operand in outside else None
        if array is None or array.ndim < 2 or array.shape[-2:] != (queries, keys):
            continue
        allowed = np.asarray(array > MASKED).reshape(-1, *array.shape[-2:])
        # A query that reads no key gets what its scores are without regard to the mask.
        if not allowed.any(axis=2).all():
            continue
        rows, columns = np.nonzero(allowed.any(axis=0))
        reach = int((columns - rows).max())
        if reach + 1 < keys:
            found = reach if found is None else min(found, reach)
    return found


def bounds_of_keys(host: Host, mask: SSAValue, outside: Mapping[SSAValue, SSAValue]) -> Iterator[KeyBound]:
    """The bounds of the keys that a mask excludes unless all of some conditions hold."""
    owner = mask.owner
    if not isinstance(owner, SchemaOp) or operator_name(owner) != "where.self":
        return
    condition, _, otherwise = owner.operands
    excluded = constant_array(host, outside[otherwise]) if otherwise in outside else None
    if element_of(otherwise) != f32 or excluded is None or not (excluded <= MASKED).all():
        return
    pending = [condition]
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, SchemaOp):
            continue
        name = operator_name(owner)
        if name in ("bitwise_and.Tensor", "logical_and"):
            pending += owner.operands
        elif name in _BOUNDS:
            keys, number = owner.operands[:: _BOUNDS[name][0]]
            if _are_numbers_of_keys(host, outside.get(keys)) and _is_bound(number, outside):
                yield KeyBound(number, _BOUNDS[name][1])


def _are_numbers_of_keys(host: Host, value: SSAValue | None) -> bool:
    """Whether a value is 0, 1, and so on in its last dimension, and has no other."""
    if value is None or element_of(value) != i64 or host.symbols.constant_of(value) is None:
        return False
    numbers = constant_integers(host, value)
    return shape_of(value)[-1:] == (numbers.size,) and np.array_equal(numbers, np.arange(numbers.size))


def _is_bound(value: SSAValue, outside: Mapping[SSAValue, SSAValue]) -> bool:
    """Whether a value is one integer for all keys."""
    return value in outside and element_of(value) in (i32, i64) and shape_of(value)[-1:] in ((), (1,))
