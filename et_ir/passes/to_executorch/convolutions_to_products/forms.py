"""The forms of a convolution that are products."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from et_ir.analysis.choices import Form
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.convolutions_to_products.builder import TileBuilder
from et_ir.passes.to_executorch.convolutions_to_products.tiling import Copies, TileBudget
from et_ir.passes.to_executorch.convolutions_to_products.window import Window

__all__ = ["Geometry", "GroupPatches", "Pointwise", "RowPatches", "copies_of"]

Geometry = Mapping[Operation, tuple[Window, TileBudget]]
"""The convolutions that can be products, and the memory there is for each."""


def copies_of(window: Window) -> Sequence[Copies]:
    """Elements copied by each form of a convolution: the patches of a row, or all that a group takes.

    Nothing for kernels of size 1. An image with a margin is copied as a whole, or the rows that a tile meets.
    """
    padding = prod(window.padded) if window.padding != (0, 0) else 0
    if window.groups == 1:
        rows, columns = window.out
        each = 0 if window.is_pointwise else window.depth * columns * window.item
        whole = Copies(rows, each, whole=window.channels * padding * window.item, urgent=True)
        # Where a tile may meet nothing but padding, there are no rows to copy.
        if not padding or window.padding[0] >= window.reach:
            return [whole]
        line = window.channels * window.padded[1] * window.item
        overlap = max(0, window.reach - window.stride[0]) * line
        return [whole, Copies(rows, each + window.stride[0] * line, overlap, urgent=True)]
    # Of one group: its part of the image, this with padding, and the patches.
    planes = window.channels // window.groups * (prod(window.size) + padding)
    patches = 0 if window.is_pointwise else window.depth * prod(window.out)
    return [Copies(window.groups, (planes + patches) * window.item)]


class _Product(Form):
    """A product of the weights and of what the taps meet."""

    def __init__(self, geometry: Geometry):
        self.geometry = geometry

    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        window, budget = self.geometry.get(op, (None, None))
        if window is None or budget is None:
            return None
        builder = TileBuilder(window.element_type)
        product = self.product(op, window, budget, builder)
        if product is None:
            return None
        if len(op.operands) > 2:
            bias = builder.view(op.operands[2], [*builder.shape(product)[:-1], 1])
            product = builder.sum(product, bias)
        builder.view(product, tensor_type(op.results[0]).get_shape())
        return builder.ops

    @abstractmethod
    def product(
        self, op: EdgeOp, window: Window, budget: TileBudget, builder: TileBuilder
    ) -> SSAValue | None:
        """All outputs but for the bias, in a matrix, or a matrix for each group; None where there is no such form."""


class Pointwise(_Product):
    """Kernels of size 1: the image is the matrix."""

    name: ClassVar = "mm"

    def product(
        self, op: EdgeOp, window: Window, budget: TileBudget, builder: TileBuilder
    ) -> SSAValue | None:
        if not window.is_pointwise or window.groups != 1:
            return None
        weight = builder.view(op.operands[1], [window.outputs, window.channels])
        return builder.product(weight, builder.view(op.operands[0], [window.channels, prod(window.size)]))


class RowPatches(_Product):
    """Patches for as many rows of the output at a time as there is memory for."""

    name: ClassVar = "mm of patches"

    def product(
        self, op: EdgeOp, window: Window, budget: TileBudget, builder: TileBuilder
    ) -> SSAValue | None:
        if window.is_pointwise or window.groups != 1:
            return None
        steps = [budget.step(way) for way in copies_of(window)]
        step = max(steps)
        if step == 0:
            return None
        weight = builder.view(op.operands[1], [window.outputs, window.depth])
        image = builder.view(op.operands[0], [window.channels, *window.size])
        rows, columns = window.out
        # Rows that several tiles meet are copied once if the whole image is.
        whole = builder.padded(image, window.padding) if steps[0] == step else None
        made: list[SSAValue] = []
        for start in range(0, rows, step):
            count = min(step, rows - start)
            first = start * window.stride[0]
            if whole is not None:
                source, offset = whole, first * window.padded[1]
            else:
                source, offset = _rows(builder, image, window, first, count), 0
            plane = prod(builder.shape(source)[1:])
            shape = [window.channels, *window.taps, count, columns]
            patches = builder.strided(source, shape, [plane, *_strides(window)], offset)
            made.append(builder.product(weight, builder.view(patches, [window.depth, count * columns])))
        return builder.joined(made, 1)


def _rows(builder: TileBuilder, image: SSAValue, window: Window, first: int, count: int) -> SSAValue:
    """The rows of the padded image that some rows of the output meet."""
    margin, height = window.padding[0], window.size[0]
    start = first - margin
    end = start + (count - 1) * window.stride[0] + window.reach
    rows = builder.rows(image, max(0, start), min(height, end))
    return builder.padded(rows, window.padding, above=max(0, -start), below=max(0, end - height))


class GroupPatches(_Product):
    """A product for each group, of patches for as many groups at a time as there is memory for."""

    name: ClassVar = "bmm of patches"

    def product(
        self, op: EdgeOp, window: Window, budget: TileBudget, builder: TileBuilder
    ) -> SSAValue | None:
        groups = window.groups
        if groups == 1:
            return None
        step = budget.step(copies_of(window)[0])
        if step == 0:
            return None
        inputs, outputs = window.channels // groups, window.outputs // groups
        weight = builder.view(op.operands[1], [groups, outputs, window.depth])
        image = builder.view(op.operands[0], [window.channels, *window.size])
        made: list[SSAValue] = []
        for start in range(0, groups, step):
            count = min(step, groups - start)
            part = builder.padded(builder.part(image, start * inputs, count * inputs), window.padding)
            if not window.is_pointwise:
                plane = prod(window.padded)
                shape = [count, inputs, *window.taps, *window.out]
                part = builder.strided(part, shape, [inputs * plane, plane, *_strides(window)], 0)
            patches = builder.view(part, [count, window.depth, prod(window.out)])
            made.append(builder.product(builder.part(weight, start, count), patches))
        return builder.joined(made, 0)


def _strides(window: Window) -> list[int]:
    """The distances in a channel of the padded image between taps, and between outputs."""
    width = window.padded[1]
    return [window.dilation[0] * width, window.dilation[1], window.stride[0] * width, window.stride[1]]
