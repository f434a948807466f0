"""Permutations that exchange two groups of neighboring dimensions, as transpositions between views."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, SSAValue

from et_ir.analysis.choices import Form
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.tensors import is_static, tensor_type

__all__ = ["Transposition"]


class Transposition(Form):
    """A permutation that exchanges two groups of neighboring dimensions."""

    name: ClassVar = "transpose_copy.int"

    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        if not isinstance(op, edge.PermuteCopyOp):
            return None
        source, result = op.operands[0], op.results[0]
        type, after = tensor_type(source), tensor_type(result)
        if not is_static(type) or dim_order_of(type) != contiguous(type.get_num_dims()):
            return None
        shape = type.get_shape()
        groups = _groups([dim % len(shape) for dim in op.dims], shape)
        order = sorted(range(len(groups)), key=lambda place: groups[place][0])
        # Where each group goes: an exchange of two if exactly two are not in their place.
        moved = [place for place, group in enumerate(order) if place != group]
        if len(moved) != 2:
            return None
        sizes = [prod(shape[dim] for dim in groups[place]) for place in order]
        swapped = [sizes[i] for i in _exchanged(len(sizes), *moved)]
        if tuple(sizes) != shape and not _may_alias(source):
            return None
        if tuple(swapped) != after.get_shape() and any(
            isinstance(use.operation, ReturnOp) for use in result.uses
        ):
            return None
        made: list[EdgeOp] = []
        if tuple(sizes) != shape:
            viewed: TensorType[Attribute] = TensorType(type.element_type, sizes)
            made.append(edge.ViewCopyOp.make(source, sizes, result_types=[viewed]))
            source = made[0].results[0]
        turned: TensorType[Attribute] = TensorType(type.element_type, swapped)
        made.append(edge.TransposeCopyIntOp.make(source, *moved, result_types=[turned]))
        if tuple(swapped) != after.get_shape():
            made.append(edge.ViewCopyOp.make(made[-1], after.get_shape(), result_types=[after]))
        return made


def _groups(order: Sequence[int], shape: Sequence[int]) -> list[list[int]]:
    """The source dimensions in their new order, neighbors that stay neighbors together, those of size 1 left out."""
    kept = [dim for dim, size in enumerate(shape) if size != 1]
    following = dict(pairwise(kept))
    groups: list[list[int]] = []
    for dim in order:
        if shape[dim] == 1:
            continue
        if groups and following.get(groups[-1][-1]) == dim:
            groups[-1].append(dim)
        else:
            groups.append([dim])
    return groups


def _exchanged(count: int, first: int, second: int) -> list[int]:
    places = list(range(count))
    places[first], places[second] = second, first
    return places


def _may_alias(value: SSAValue) -> bool:
    """Whether a view of a value costs nothing: it is computed, and so has memory that is planned."""
    return isinstance(value.owner, EdgeOp)
