"""The bounds of what comes out of control flow.

A result of a branch is as large as the larger of the two. What goes round a loop is as large as what it starts with,
if what the body yields is never larger; if it may be, nothing is known of it but what is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Block, SSAValue

from et_ir.dialects.control import CondOp, ControlOp, MapOp, ScanOp, WhileOp, YieldOp
from et_ir.dialects.schema.tensors import is_tensor
from et_ops.intervals import Interval, Sizes, largest

if TYPE_CHECKING:
    from et_ir.analysis.bounds.analysis import SizeBounds

__all__ = ["control_bounds"]


def control_bounds(bounds: SizeBounds, op: ControlOp) -> None:
    """Derive the bounds of what an op of the dialect `control` computes, and of all that is in it."""
    match op:
        case CondOp():
            for region in op.regions:
                bounds.block(region.block)
            branches = [_yielded(region.block) for region in op.regions]
            for output, first, second in zip(op.outputs, *branches, strict=True):
                bounds.settle(
                    output,
                    _larger(bounds.sizes(first), bounds.sizes(second)),
                    _hull(bounds.number(first), bounds.number(second)),
                )
        case WhileOp():
            _loop(bounds, [op.condition.block, op.body.block], op.inits, op.outputs, ())
        case MapOp():
            _loop(bounds, [op.body.block], (), (), op.sequences)
            _stacks(bounds, op.outputs, op.sequences, _yielded(op.body.block))
        case ScanOp():
            _loop(bounds, [op.body.block], op.inits, op.carried, op.sequences)
            _stacks(bounds, op.stacked, op.sequences, _yielded(op.body.block)[len(op.inits) :])
        case _:
            raise AssertionError(f"nothing is known of the bounds of {op.name}")


def _yielded(block: Block) -> tuple[SSAValue, ...]:
    last = block.last_op
    assert isinstance(last, YieldOp)
    return tuple(last.values)


def _larger(first: Sizes, second: Sizes) -> Sizes | None:
    if len(first) != len(second):
        return None
    return tuple(largest(a, b) for a, b in zip(first, second, strict=True))


def _hull(first: Interval, second: Interval) -> Interval:
    """The numbers between those of two intervals."""
    a, b = first.least, second.least
    least = None if a is None or b is None else min(a, b)
    return Interval(least, largest(first.most, second.most))


def _loop(
    bounds: SizeBounds,
    blocks: Sequence[Block],
    inits: Sequence[SSAValue],
    results: Sequence[SSAValue],
    sequences: Sequence[SSAValue],
) -> None:
    """Derive the bounds of a loop's blocks, which take what is carried and slices; the last yields what is carried."""
    body = blocks[-1]
    carried: list[Sizes | None] = [bounds.sizes(value) for value in inits]

    def derive() -> None:
        for block in blocks:
            for argument, sizes in zip(block.args[: len(inits)], carried, strict=True):
                bounds.settle(argument, sizes)
            for argument, sequence in zip(block.args[len(inits) :], sequences, strict=False):
                bounds.settle(argument, bounds.sizes(sequence)[1:])
            bounds.block(block)

    derive()
    grown = False
    for index, (argument, value) in enumerate(zip(body.args[: len(inits)], _yielded(body), strict=False)):
        if is_tensor(argument.type) and _larger(bounds.sizes(argument), bounds.sizes(value)) != bounds.sizes(
            argument
        ):
            carried[index] = None
            grown = True
    if grown:
        derive()
    for result, argument in zip(results, body.args, strict=False):
        bounds.settle(result, bounds.sizes(argument))


def _stacks(
    bounds: SizeBounds, stacked: Sequence[SSAValue], sequences: Sequence[SSAValue], items: Sequence[SSAValue]
) -> None:
    for stack, item in zip(stacked, items, strict=True):
        bounds.settle(stack, (bounds.sizes(sequences[0])[0], *bounds.sizes(item)))
