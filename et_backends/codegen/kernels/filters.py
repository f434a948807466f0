"""Filters of convolutions of any kind: transposed, grouped, of one to three dimensions, constant or computed.

A transposed convolution is one plain convolution for each place of the result modulo the stride, with the filter's
taps that meet pixels there (sub-pixel convolution; Shi et al., "Is the deconvolution layer the same as a convolutional
layer?", 2016). So all kinds are windows of regular taps over an image, and differ in where results go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod
from typing import Any, Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.images import image_sizes, spatial_rank
from et_backends.codegen.kernels.panels import PANEL, array_constant, constant_array
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Convolution", "Direction", "Phase", "channel_filters", "is_plain", "panel_filters"]

DIRECTIONS: Final = 3
"""Spatial dimensions of kernels: images of fewer have outer ones of size 1."""


@dataclass(frozen=True)
class Direction:
    """Taps along one dimension, for places of the result that are `out_step` apart."""

    taps: int
    tap_first: int
    """The place in the filter of the tap that meets the first pixel, and the distance to the next."""
    tap_step: int
    apart: int
    """Distance of the pixels under neighboring taps."""
    start: int
    """The pixel under the first tap for the first result: below 0 in the border."""
    step: int
    """Distance of the pixels under one tap for neighboring results."""
    count: int
    """Number of results."""
    out_first: int
    out_step: int

    @property
    def last(self) -> int:
        """The last pixel that is read."""
        return self.start + (self.count - 1) * self.step + (self.taps - 1) * self.apart


Phase = tuple[Direction, Direction, Direction]
"""Depth, height and width."""


@dataclass(frozen=True)
class Convolution:
    """Sizes of a convolution, with three spatial dimensions."""

    batch: int
    source: tuple[int, int, int]
    target: tuple[int, int, int]
    filter: tuple[int, int, int]
    channels: int
    """Of the image, those of all groups."""
    columns: int
    """Of the result, those of all groups."""
    groups: int
    transposed: bool
    phases: tuple[Phase, ...]
    before: tuple[int, int, int]
    after: tuple[int, int, int]
    """Pixels that taps cover before and after the image."""
    cut: bool = False
    """Whether taps are left out where they meet no pixel. If not, they meet zeros."""

    @staticmethod
    def of(op: SchemaOp) -> Convolution:
        """The sizes of an op of any kind."""
        rank = spatial_rank(op)
        batch, *source, channels = image_sizes(op, op.arg("input"))
        _, *target, columns = image_sizes(op, op.results[0])
        taps = list(tensor_type(op.arg("weight")).get_shape()[2:])
        transposed = bool(op.arg("transposed"))
        steps, borders, aparts = (_of_all(op.arg(name), rank) for name in ("stride", "padding", "dilation"))
        make = _transposed if transposed else _direct
        lead = DIRECTIONS - rank
        directions = [[Direction(1, 0, 1, 1, 0, 1, 1, 0, 1)]] * lead
        directions += [make(*sizes) for sizes in zip(target, taps, steps, borders, aparts, strict=True)]
        sizes = (1,) * lead + tuple(source)
        before = [max([0, *(-one.start for one in each if one.taps)]) for each in directions]
        after = [
            max([0, *(one.last + 1 - size for one in each if one.taps)])
            for each, size in zip(directions, sizes, strict=True)
        ]
        return Convolution(
            batch,
            _three(sizes),
            _three([1] * lead + target),
            _three([1] * lead + taps),
            channels,
            columns,
            int(op.arg("groups")),
            transposed,
            tuple((z, y, x) for z, y, x in product(*directions)),
            _three(before),
            _three(after),
        )

    def cut_to_image(self, host: Host, weight: SSAValue) -> Convolution:
        """The same, without a border if filters may be infinite or NaN, which times the zeros there are NaN.

        A plain convolution multiplies them in torch too, a transposed one adds up what pixels contribute.
        """
        filters = constant_array(host, weight)
        if not self.transposed or (filters is not None and bool(np.isfinite(filters).all())):
            return self
        return replace(self, before=(0, 0, 0), after=(0, 0, 0), cut=True)

    def taps_within(self, b: LoopBuilder, axis: int, one: Direction, start: Index) -> tuple[Index, Index]:
        """The first tap that is visited, and the end of these, for a place of the image under the first."""
        if not self.cut:
            return 0, one.taps
        return b.steps_within(start, one.taps, one.apart, self.source[axis])

    @property
    def rows(self) -> int:
        """Pixels of all results."""
        return self.batch * prod(self.target)

    @property
    def padded(self) -> tuple[int, int, int]:
        """Sizes of the image with all that taps cover."""
        sizes = zip(self.before, self.source, self.after, strict=True)
        return _three([sum(one) for one in sizes])

    @property
    def is_point(self) -> bool:
        """Whether each pixel is computed from the one at its place."""
        return (
            len(self.phases) == 1
            and self.source == self.target
            and all(one.taps == one.step == 1 and one.start == 0 for one in self.phases[0])
        )


def is_plain(op: SchemaOp) -> bool:
    """Whether sizes of a convolution are known, and it is of one to three dimensions with a batch."""
    rank = tensor_type(op.arg("weight")).get_num_dims()
    return (
        tensor_type(op.arg("input")).get_num_dims() == rank
        and rank - 2 in range(1, DIRECTIONS + 1)
        and not isinstance(op.arg("groups"), SSAValue)
        and not any(
            isinstance(one, SSAValue)
            for name in ("stride", "padding", "dilation", "output_padding")
            for one in op.arg(name)
        )
    )


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    depth, height, width = sizes
    return depth, height, width


def _of_all(values: Sequence[Any], rank: int) -> list[int]:
    return [int(values[min(number, len(values) - 1)]) for number in range(rank)]


def _direct(target: int, taps: int, step: int, border: int, apart: int) -> list[Direction]:
    return [Direction(taps, 0, 1, apart, -border, step, target, 0, 1)]


def _transposed(target: int, taps: int, step: int, border: int, apart: int) -> list[Direction]:
    """A direction for each place modulo the stride, with the taps that meet pixels there, the last one first."""
    found: list[Direction] = []
    for place in range(min(step, target)):
        met = [tap for tap in reversed(range(taps)) if (place + border - tap * apart) % step == 0]
        first = met[0] if met else 0
        common = gcd(step, apart)
        found.append(
            Direction(
                len(met),
                first,
                -(step // common),
                apart // common,
                (place + border - first * apart) // step,
                1,
                -(-(target - place) // step),
                place,
                step,
            )
        )
    return found


# -- packing


def panel_filters(host: Host, sizes: Convolution, phase: Phase, weight: SSAValue) -> Operand:
    """Filters of a phase in panels, `[group and panel][tap and channel][16]`."""
    inner = prod(one.taps for one in phase) * (sizes.channels // sizes.groups)
    columns = sizes.columns // sizes.groups
    panels = -(-columns // PANEL)
    if not inner:
        # No tap meets a pixel, and no filter is read.
        return Operand(array_constant(host, np.zeros(PANEL, np.float32)), [1, 1, PANEL], fixed=[2])
    filters = constant_array(host, weight)
    if filters is None:
        return _packed_panels(host, sizes, phase, host.buffer(weight), inner)

    def pack(filters: Any) -> Any:
        packed = np.zeros((sizes.groups, panels, inner, PANEL), np.float32)
        by_group = _by_group(sizes, phase, filters).reshape(sizes.groups, inner, columns)
        for panel in range(panels):
            part = by_group[:, :, panel * PANEL : (panel + 1) * PANEL]
            packed[:, panel, :, : part.shape[2]] = part
        return packed

    operand = [sizes.groups * panels, inner, PANEL]
    blob = host.packed(f"panels of {sizes.groups} groups, {sizes.transposed}, {phase}", [filters], pack)
    return Operand(host.constant(blob, sizes.groups * panels * inner * PANEL), operand, fixed=[2])


def _by_group(sizes: Convolution, phase: Phase, filters: Any) -> Any:
    """Filters of a phase, `[group][depth][height][width][channel][column]`."""
    groups = sizes.groups
    shaped = filters.reshape(groups, filters.shape[0] // groups, filters.shape[1], *sizes.filter)
    if not sizes.transposed:
        shaped = shaped.swapaxes(1, 2)
    for axis, one in enumerate(phase):
        taps = [one.tap_first + number * one.tap_step for number in range(one.taps)]
        shaped = np.take(shaped, taps, 3 + axis)
    return shaped.transpose(0, 3, 4, 5, 1, 2)


def _packed_panels(host: Host, sizes: Convolution, phase: Phase, weight: SSAValue, inner: int) -> Operand:
    """Panels that the program packs from filters that it computes."""
    columns = sizes.columns // sizes.groups
    channels = sizes.channels // sizes.groups
    panels = -(-columns // PANEL)
    target = host.scratch(sizes.groups * panels * inner * PANEL)
    outer = sizes.channels if sizes.transposed else sizes.columns
    last = columns if sizes.transposed else channels
    source = Operand(weight, [outer, *sizes.filter, last])
    result = Operand(target, [sizes.groups * panels, inner, PANEL], fixed=[2])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        w, y = buffers
        with b.parallel(sizes.groups * panels) as place:
            group = b.quotient(place, panels)
            first = b.mul(b.remainder(place, panels), PANEL)
            left = b.min(b.sub(columns, first), PANEL)
            with b.for_(0, inner) as loop:
                tap = b.quotient(loop.index, channels)
                channel = b.remainder(loop.index, channels)
                at = _tap_places(b, phase, tap)
                if sizes.transposed:
                    row = b.add(b.mul(group, channels), channel)
                    value = b.load_row(w, [row, *at, first], b.mask(left, PANEL), PANEL)
                    b.store(value, y, [place, loop.index, 0])
                else:
                    b.store(b.splat(0.0, vector_of(PANEL)), y, [place, loop.index, 0])
                    column = b.add(b.mul(group, columns), first)
                    with b.for_(0, left) as lanes:
                        value = b.element(w, [b.add(column, lanes.index), *at, channel])
                        b.set_element(value, y, [place, loop.index, lanes.index])

    host.call("pack", [source, result], build)
    return result


def _tap_places(b: LoopBuilder, phase: Phase, tap: Index) -> list[Index]:
    """The place in a filter of a tap of a phase, by its number."""
    places: list[Index] = []
    for one in reversed(phase):
        number = b.remainder(tap, one.taps)
        tap = b.quotient(tap, one.taps)
        step = b.mul(number, abs(one.tap_step))
        places.append(b.add(step, one.tap_first) if one.tap_step > 0 else b.sub(one.tap_first, step))
    return places[::-1]


def channel_filters(host: Host, sizes: Convolution, phase: Phase, weight: SSAValue) -> Operand:
    """Filters of a phase, one for each channel of the result, `[tap][channel]`."""
    count = prod(one.taps for one in phase)
    if not count:
        return Operand(array_constant(host, np.zeros(PANEL, np.float32)), [1, PANEL])
    filters = constant_array(host, weight)
    if filters is not None:
        packed = filters.reshape(sizes.columns, *sizes.filter)
        for axis, one in enumerate(phase):
            taps = [one.tap_first + number * one.tap_step for number in range(one.taps)]
            packed = np.take(packed, taps, 1 + axis)
        taps_first = packed.reshape(sizes.columns, count).T
        return Operand(array_constant(host, taps_first), [count, sizes.columns])
    source = Operand(host.buffer(weight), _channel_weight(sizes))
    result = Operand(host.scratch(count * sizes.columns), [count, sizes.columns])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        w, y = buffers
        each = sizes.columns // sizes.groups
        with b.parallel(b.dim(y, 0)) as tap:
            at = _tap_places(b, phase, tap)
            with b.for_(0, b.dim(y, 1)) as loop:
                if sizes.transposed:
                    place = [b.quotient(loop.index, each), *at, b.remainder(loop.index, each)]
                else:
                    place = [loop.index, *at, 0]
                b.set_element(b.element(w, place), y, [tap, loop.index])

    host.call("pack", [source, result], build)
    return result


def _channel_weight(sizes: Convolution) -> list[int]:
    """Sizes in memory of filters with channels innermost, one channel to a group."""
    each = sizes.columns // sizes.groups
    if sizes.transposed:
        return [sizes.groups, *sizes.filter, each]
    return [sizes.columns, *sizes.filter, 1]
