"""Resampling kernels: combinations of the pixels that tables name, for vectors of channels.

Resizes, borders that repeat the image, and pools with windows of several sizes differ by their tables only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.images import image_sizes
from et_backends.codegen.kernels.panels import PANEL, array_constant, constant_integers, integers_constant
from et_backends.codegen.kernels.pointwise_rules import add, anchor_of, div, mul
from et_backends.codegen.kernels.resampling import Axis, axes_of, takes_maximum
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of

__all__ = ["resample_kernel"]


def resample_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is an operator of `RESAMPLING`."""
    anchor = anchor_of(kernel)
    outside = kernel.outside()
    axes = axes_of(anchor, lambda value: constant_integers(host, outside[value]))
    source, target = anchor.operands[0], anchor.results[0]
    *outer, channels = image_sizes(anchor, target)
    epilogue = Epilogue(kernel, anchor, prod(outer), channels)
    image = Operand(host.buffer(outside[source]), image_sizes(anchor, source))
    result = Operand(host.buffer(kernel.outputs[0]), [prod(outer), channels])
    tables = [operand for axis in axes for operand in _tables(host, axis)]
    shape = _Shape(
        outer[0], tuple(_kind(axis) for axis in axes), takes_maximum(anchor), channels % PANEL != 0
    )

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, *rest, y = buffers
        epilogue.bind(rest[len(tables) :])
        _Resample(b, shape, epilogue, x, rest[: len(tables)], y).build()

    host.call("resample", [image, *tables, *epilogue.operands(host), result], build)


@dataclass(frozen=True)
class _Kind:
    """The parameters that the code for an axis depends on."""

    taps: int
    """Places for each place of the result, 0 if their number differs."""
    weighted: bool
    divides: bool
    apart: int


@dataclass(frozen=True)
class _Shape:
    """The parameters that the code of a kernel depends on."""

    batch: int
    kinds: tuple[_Kind, ...]
    maximum: bool
    tail: bool
    """Whether a part of a vector of channels is left."""


@dataclass(frozen=True)
class _Place:
    """The tables of an axis at a place of the result."""

    places: Sequence[Index]
    """The places in the source, or the first and the end."""
    weights: Sequence[SSAValue]
    """Vectors of equal factors, if all are known before the channels."""
    row: Index
    divisor: SSAValue | None


def _kind(axis: Axis) -> _Kind:
    taps = axis.places.shape[1] if axis.counts is None else 0
    return _Kind(taps, axis.weights is not None, axis.divisors is not None, axis.apart)


def _tables(host: Host, axis: Axis) -> list[Operand]:
    """Constants of an axis, as the kernel takes them: places, or starts and ends; factors; divisors."""
    places = axis.places
    if axis.counts is not None:
        ends = places[:, 0] + axis.counts * axis.apart
        places = np.stack([places[:, 0], ends], 1)
    found = [Operand(integers_constant(host, places), places.shape, fixed=[1])]
    if axis.weights is not None:
        found.append(Operand(array_constant(host, axis.weights), axis.weights.shape))
    if axis.divisors is not None:
        found.append(Operand(array_constant(host, axis.divisors), axis.divisors.shape))
    return found


class _Resample:
    """The loops of one kernel."""

    def __init__(
        self,
        b: LoopBuilder,
        shape: _Shape,
        epilogue: Epilogue,
        x: SSAValue,
        tables: Sequence[SSAValue],
        y: SSAValue,
    ):
        self.b, self.shape, self.epilogue, self.x, self.y = b, shape, epilogue, x, y
        rest = iter(tables)
        self.tables = [
            (next(rest), next(rest) if kind.weighted else None, next(rest) if kind.divides else None)
            for kind in shape.kinds
        ]

    def build(self) -> None:
        b = self.b
        sizes = [b.dim(table[0], 0) for table in self.tables]
        channels = b.dim(self.y, 1)
        rows: Index = self.shape.batch
        for size in sizes[:-1]:
            rows = b.mul(rows, size)
        with b.parallel(rows) as row:
            number: Index = row
            outer: list[_Place] = []
            for axis in reversed(range(len(sizes) - 1)):
                outer.insert(0, self._place(axis, b.remainder(number, sizes[axis])))
                number = b.quotient(number, sizes[axis])
            with b.for_(0, sizes[-1]) as loop:
                at = [*outer, self._place(len(sizes) - 1, loop.index)]
                pixel = b.add(b.mul(row, sizes[-1]), loop.index)
                divisor = self._divisor(at)
                whole = b.multiple_below(channels, PANEL)
                with b.for_(0, whole, PANEL) as inner:
                    self._vector(number, at, divisor, pixel, inner.index, None)
                if self.shape.tail:
                    self._vector(number, at, divisor, pixel, whole, b.mask(b.sub(channels, whole), PANEL))

    def _place(self, axis: int, row: Index) -> _Place:
        b, kind = self.b, self.shape.kinds[axis]
        table, weights, divisors = self.tables[axis]
        places = [self._integer(table, [row, tap]) for tap in range(kind.taps or 2)]
        factors: list[SSAValue] = []
        if weights is not None and kind.taps:
            factors = [
                b.broadcast(b.element(weights, [row, tap]), vector_of(PANEL)) for tap in range(kind.taps)
            ]
        return _Place(places, factors, row, None if divisors is None else b.element(divisors, [row]))

    def _integer(self, table: SSAValue, at: Sequence[Index]) -> SSAValue:
        return self.b.value(arith.IndexCastOp(self.b.element(table, at), IndexType()))

    def _divisor(self, at: Sequence[_Place]) -> SSAValue | None:
        found: SSAValue | None = None
        for place in at:
            if place.divisor is not None:
                found = place.divisor if found is None else mul(self.b, found, place.divisor)
        return None if found is None else self.b.broadcast(found, vector_of(PANEL))

    def _vector(
        self,
        number: Index,
        at: Sequence[_Place],
        divisor: SSAValue | None,
        pixel: Index,
        channel: Index,
        mask: SSAValue | None,
    ) -> None:
        """A vector of channels of a pixel of the result."""
        b = self.b
        if all(kind.taps for kind in self.shape.kinds):
            total = self._taps(at, [number], channel, mask)
        else:
            start = b.splat(float("-inf") if self.shape.maximum else 0.0, vector_of(PANEL))
            total = self._run(at, [number], channel, mask, start, None)
        if divisor is not None:
            total = div(b, total, divisor)
        self.epilogue.store_row(b, total, self.y, [pixel, channel], mask)

    def _taps(
        self, at: Sequence[_Place], source: Sequence[Index], channel: Index, mask: SSAValue | None
    ) -> SSAValue:
        """The weighted sum over the taps of the axes from that of `source` on."""
        b = self.b
        if len(source) > len(at):
            return b.load_row(self.x, [*source, channel], mask, PANEL)
        here = at[len(source) - 1]
        total: SSAValue | None = None
        for tap, place in enumerate(here.places):
            value = self._taps(at, [*source, place], channel, mask)
            if not here.weights:
                total = value
            elif total is None:
                total = mul(b, value, here.weights[tap])
            else:
                total = b.value(vector.FMAOp(value, here.weights[tap], total))
        assert total is not None
        return total

    def _run(
        self,
        at: Sequence[_Place],
        source: Sequence[Index],
        channel: Index,
        mask: SSAValue | None,
        total: SSAValue,
        factor: SSAValue | None,
    ) -> SSAValue:
        """`total` with the pixels under the windows of the axes from that of `source` on."""
        b = self.b
        if len(source) > len(at):
            value = b.load_row(self.x, [*source, channel], mask, PANEL)
            if self.shape.maximum:
                return b.value(arith.MaximumfOp(total, value))
            if factor is None:
                return add(b, total, value)
            return b.value(vector.FMAOp(value, b.broadcast(factor, vector_of(PANEL)), total))
        axis = len(source) - 1
        here, kind, weights = at[axis], self.shape.kinds[axis], self.tables[axis][1]
        first, end = here.places
        with b.for_(first, end, kind.apart, [total]) as loop:
            if weights is not None:
                weight = b.element(weights, [here.row, b.sub(loop.index, first)])
                factor = weight if factor is None else mul(b, factor, weight)
            loop.next = [self._run(at, [*source, loop.index], channel, mask, loop.args[0], factor)]
        return loop.results[0]
