"""Building of loops inside of rewrite patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from et_ir.dialects.control.ops import ScanOp, YieldOp, region_of
from et_ir.dialects.control.types import slice_type
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["ScanBody", "build_scan"]

ScanBody: TypeAlias = "Callable[[Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]"
"""Builds a turn from states and slices: the next states, then the items of the stacks."""


def build_scan(
    rewriter: PatternRewriter,
    states: Sequence[SSAValue],
    sequences: Sequence[SSAValue],
    stacks: Sequence[Attribute],
    body: ScanBody,
) -> ScanOp:
    """A scan over the slices of sequences, with stacks of the given types, inserted where `rewriter` inserts."""
    slices = [slice_type(tensor_type(sequence)) for sequence in sequences]
    region = region_of([*(state.type for state in states), *slices])
    outside = rewriter.insertion_point
    rewriter.insertion_point = InsertPoint.at_end(region.block)
    arguments = region.block.args
    rewriter.insert(YieldOp(body(arguments[: len(states)], arguments[len(states) :])))
    rewriter.insertion_point = outside
    return rewriter.insert(ScanOp(states, sequences, stacks, region))
