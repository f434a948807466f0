"""Constant pads of any rank: a copy with elements of one value around it, or with fewer where a pad is negative.

Dimensions without a pad are merged with those before them, so that a row is a run of elements between two fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.padding import copy_inside, copy_row, fill_row
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.loop_builder import Index, LoopBuilder
from et_ir.analysis.dim_orders import in_order
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Pad", "constant_pad_kernel", "pad_buffer"]


@dataclass(frozen=True)
class Pad:
    """A dimension: its size, and the elements that are put before and after it."""

    size: int
    before: int = 0
    after: int = 0

    @property
    def padded(self) -> int:
        """The size of the result."""
        return self.before + self.size + self.after


def constant_pad_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a constant pad, in the order in memory that its input has."""
    op = anchor_of(kernel)
    type = tensor_type(kernel.inputs[0])
    rank = type.get_num_dims()
    given = [int(one) for one in op.arg("pad")]
    pads = [Pad(size) for size in type.get_shape()]
    for number in range(len(given) // 2):
        dim = rank - 1 - number
        pads[dim] = Pad(pads[dim].size, given[2 * number], given[2 * number + 1])
    ordered = [pads[dim] for dim in dim_order_of(type)]
    assert in_order(type.get_shape(), dim_order_of(type)) == [pad.size for pad in ordered]
    pad_buffer(
        host, host.buffer(kernel.inputs[0]), host.buffer(kernel.outputs[0]), ordered, float(op.arg("value"))
    )


def pad_buffer(host: Host, source: SSAValue, target: SSAValue, pads: Sequence[Pad], value: float) -> None:
    """Write a buffer with pads of a value to another one."""
    *outer, row = _merged(pads) or [Pad(1)]
    outer = outer or [Pad(1)]
    operands = [
        Operand(source, [*(pad.size for pad in outer), row.size]),
        Operand(target, [prod(pad.padded for pad in outer), row.padded]),
    ]
    first, cut = max(row.before, 0), max(-row.before, 0)
    count = max(min(row.size, row.size + row.after) - cut, 0)
    lanes = host.lanes

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, y = buffers
        if b.fine:
            _build_each(b, [*outer, row], value, x, y)
            return
        with b.parallel(b.dim(y, 0)) as number:
            rest: Index = number
            at: list[Index] = []
            inside: SSAValue | None = None
            for pad in reversed(outer[1:]):
                at.insert(0, b.remainder(rest, pad.padded))
                rest = b.quotient(rest, pad.padded)
            at.insert(0, rest)
            for dim, pad in enumerate(outer):
                at[dim] = b.sub(at[dim], pad.before) if pad.before >= 0 else b.add(at[dim], -pad.before)
                bounds = [b.at_least(at[dim], 0)] if pad.before > 0 else []
                bounds += [b.below(at[dim], pad.size)] if pad.after > 0 else []
                for bound in bounds:
                    inside = bound if inside is None else b.both(inside, bound)

            def copied() -> None:
                fill_row(b, y, number, 0, first, value, lanes)
                copy_row(b, x, [*at, cut], y, [number, first], count, lanes)
                fill_row(b, y, number, first + count, b.dim(y, 1), value, lanes)

            if inside is None or not count:
                copied()
                return
            with b.if_(inside) as otherwise:
                copied()
                with otherwise():
                    fill_row(b, y, number, 0, b.dim(y, 1), value, lanes)

    host.call("pad", operands, build)


def _build_each(b: LoopBuilder, pads: Sequence[Pad], value: float, x: SSAValue, y: SSAValue) -> None:
    """An iteration for each element of the result."""
    with b.each([*(pad.padded for pad in pads[:-1]), b.dim(y, 1)]) as place:
        number: Index = 0
        for at, pad in zip(place[:-1], pads[:-1], strict=True):
            number = b.add(b.mul(number, pad.padded), at)
        source = [b.sub(at, pad.before) for at, pad in zip(place, pads, strict=True)]
        bounds = [(at, pad.size) for at, pad in zip(source, pads, strict=True)]
        copy_inside(b, x, source, bounds, y, [number, place[-1]], value)


def _merged(pads: Sequence[Pad]) -> list[Pad]:
    """Dimensions with those merged into the one before them that have no pad."""
    found: list[Pad] = []
    for pad in pads:
        if found and pad.padded == pad.size and not pad.before:
            last = found.pop()
            found.append(Pad(last.size * pad.size, last.before * pad.size, last.after * pad.size))
        else:
            found.append(pad)
    return found
