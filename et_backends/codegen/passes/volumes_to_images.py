"""Convolutions of volumes as convolutions of images.

For images there is machine code of any size, for volumes only where their sizes are known. The planes that a filter
covers are read as channels of one image: `im2col` along the depth alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.forms import form_of_operator
from et_backends.codegen.sizes import Size, has_known_sizes
from et_ir.data import Blob
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.sizes import size_operand
from et_ir.dialects.program import ComputeOp, GetOp, GlobalOp, Globals, LiteralOp
from et_ir.dialects.schema.tensors import sized_tensor, sizes_of, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["VolumesToImagesPass"]

_RANK = 5
_END = 2**63 - 1
"""The end of a slice that ends with the tensor."""


@dataclass(frozen=True)
class VolumesToImagesPass(ModulePass):
    """Convolve volumes of dynamic size as images.

    Before:

    ```mlir
    %w = program.get @w : tensor<8x4x2x3x3xf32>
    %1 = edge.convolution %0, %w, none {stride = [1, 1, 1], …}
        : (tensor<1x4x6x?x?xf32, #program.sizes<s0, s1>>, …) -> tensor<1x8x5x?x?xf32, #program.sizes<s0 - 2, s1 - 2>>
    ```

    Those with constant filters. After:

    ```mlir
    %w = program.get @w_planes : tensor<8x8x3x3xf32>
    %1 = edge.permute_copy %0 {dims = [0, 2, 1, 3, 4]} : … -> tensor<1x6x4x?x?xf32, #program.sizes<s0, s1>>
    %2 = edge.slice_copy.Tensor %1 {dim = 1, end = -1} : … -> tensor<1x5x4x?x?xf32, #program.sizes<s0, s1>>
    %3 = edge.slice_copy.Tensor %1 {dim = 1, start = 1} : … -> tensor<1x5x4x?x?xf32, #program.sizes<s0, s1>>
    %4 = edge.cat %2, %3 {dim = 2} : … -> tensor<1x5x8x?x?xf32, #program.sizes<s0, s1>>
    %5 = edge.view_copy %4 … -> tensor<5x8x?x?xf32, #program.sizes<s0, s1>>
    %6 = edge.convolution %5, %w, none {stride = [1, 1], …} : … -> tensor<5x8x?x?xf32, #program.sizes<s0 - 2, s1 - 2>>
    %7 = edge.view_copy %6 … -> tensor<1x5x8x?x?xf32, #program.sizes<s0 - 2, s1 - 2>>
    %8 = edge.permute_copy %7 {dims = [0, 2, 1, 3, 4]} : … -> tensor<1x8x5x?x?xf32, #program.sizes<s0 - 2, s1 - 2>>
    ```
    """

    name = "volumes-to-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_ToImage(Globals(op), {})])


@dataclass
class _ToImage(RewritePattern):
    symbols: Globals
    constants: dict[str, GlobalOp]
    """The filters of images, by the symbol of those of volumes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConvolutionOp, rewriter: PatternRewriter) -> None:
        volume, weight, bias = op.arg("input"), op.arg("weight"), op.arg("bias")
        type = tensor_type(volume)
        if type.get_num_dims() != _RANK or type.has_static_shape() or op.arg("transposed"):
            return
        filters = self.symbols.constant_of(weight)
        arguments = [op.arg(name) for name in ("stride", "padding", "dilation")]
        if (
            filters is None
            or filters.value is None
            or (bias is not None and self.symbols.constant_of(bias) is None)
            or any(isinstance(one, SSAValue) for one in chain(*arguments))
            or form_of_operator(op) not in ("filter_convolution", "channel_convolution")
            or not (has_known_sizes(volume) and has_known_sizes(op.results[0]))
            or any(dim_order_of(tensor_type(one)) != contiguous(_RANK) for one in (volume, weight))
        ):
            return
        _Builder(self, op, rewriter).replace(filters)

    def planes(self, filters: GlobalOp) -> GlobalOp:
        """Filters `[channel][plane * input][row][column]` of `[channel][input][plane][row][column]`."""
        if filters.key not in self.constants:
            assert filters.value is not None
            source, shape = filters.value.blob, filters.type.get_shape()
            count, inputs, planes, *window = shape
            name = f"{filters.key}_planes"

            def data() -> memoryview:
                held = np.frombuffer(source.view(), np.float32).reshape(shape)
                moved = np.ascontiguousarray(held.transpose(0, 2, 1, 3, 4))
                return moved.reshape(-1).view(np.uint8).data

            blob = Blob.derived(name, 4 * prod(shape), data)
            made = TensorType(f32, (count, planes * inputs, *window))
            self.constants[filters.key] = self.symbols.add_constant(name, made, blob)
        return self.constants[filters.key]


class _Builder:
    """Inserts the ops that replace a convolution."""

    def __init__(self, pattern: _ToImage, op: edge.ConvolutionOp, rewriter: PatternRewriter):
        self._pattern, self._op, self._rewriter = pattern, op, rewriter

    def replace(self, filters: GlobalOp) -> None:
        op = self._op
        groups = int(op.arg("groups"))
        read = self._add(GetOp(*_key(self._pattern.planes(filters))))
        image, first = self._image(groups, filters.type.get_shape()[2])
        batch, channels, planes, height, width = sizes_of(tensor_type(op.results[0]))
        convolution = self._add(
            edge.ConvolutionOp.make(
                image,
                read,
                op.arg("bias"),
                op.arg("stride")[1:],
                op.arg("padding")[1:],
                op.arg("dilation")[1:],
                False,
                (0, 0),
                groups,
                result_types=[_floats(_times(batch, planes), channels, height, width)],
            )
        )
        rows = [size_operand(convolution, dim, self._rewriter) for dim in (2, 3)]
        parted = self._add(
            edge.ViewCopyOp.make(
                convolution,
                (*first, channels, *rows),
                result_types=[_floats(batch, planes, channels, height, width)],
            )
        )
        back = edge.PermuteCopyOp.make(parted, (0, 2, 1, 3, 4), result_types=[op.results[0].type])
        self._rewriter.replace(op, [back])

    def _image(self, groups: int, taps: int) -> tuple[SSAValue, list[int | SSAValue]]:
        """All planes under the taps as channels of one image for each plane of the result, and the batch and number of
        these planes.
        """
        op = self._op
        value = op.arg("input")
        batch, channels, depth, height, width = sizes_of(tensor_type(value))
        assert isinstance(channels, int)
        types = [_floats(batch, depth, channels, height, width)]
        value = self._add(edge.PermuteCopyOp.make(value, (0, 2, 1, 3, 4), result_types=types))
        value = self._padded(value, int(op.arg("padding")[0]))
        each = channels // groups
        if groups > 1:
            # The planes of a group follow each other.
            given = [size_operand(value, dim, self._rewriter) for dim in (0, 1, 3, 4)]
            padded = sizes_of(tensor_type(value))
            types = [_floats(*padded[:2], groups, each, *padded[3:])]
            target = (*given[:2], groups, each, *given[2:])
            value = self._add(edge.ViewCopyOp.make(value, target, result_types=types))
        planes = sizes_of(tensor_type(op.results[0]))[2]
        outer = (batch, planes, *([groups] if groups > 1 else []))
        step, apart = (int(op.arg(name)[0]) for name in ("stride", "dilation"))
        types = [_floats(*outer, each, height, width)]
        parts: list[SSAValue] = []
        for tap in range(taps):
            end = -apart * (taps - 1 - tap) or _END
            part = edge.SliceCopyTensorOp.make(value, 1, tap * apart, end, step, result_types=types)
            parts.append(self._add(part))
        if taps > 1:
            types = [_floats(*outer, taps * each, height, width)]
            joined = self._add(edge.CatOp.make(parts, len(outer), result_types=types))
        else:
            (joined,) = parts
        rank = tensor_type(joined).get_num_dims()
        first = [size_operand(joined, dim, self._rewriter) for dim in (0, 1)]
        rows = [size_operand(joined, dim, self._rewriter) for dim in (rank - 2, rank - 1)]
        image = edge.ViewCopyOp.make(
            joined,
            (self._product(*first), taps * channels, *rows),
            result_types=[_floats(_times(batch, planes), taps * channels, height, width)],
        )
        return self._add(image), first

    def _padded(self, value: SSAValue, count: int) -> SSAValue:
        """A volume with planes of zeros before and behind its own, which are dimension 1."""
        if not count:
            return value
        batch, depth, *rest = sizes_of(tensor_type(value))
        types = [_floats(batch, None if depth is None else depth + 2 * count, *rest)]
        pad = (0, 0) * (_RANK - 2) + (count, count)
        return self._add(edge.ConstantPadNdOp.make(value, pad, 0.0, result_types=types))

    def _product(self, one: int | SSAValue, other: int | SSAValue) -> int | SSAValue:
        if isinstance(one, int) and isinstance(other, int):
            return one * other
        factors = [
            self._rewriter.insert(LiteralOp(size)).results[0] if isinstance(size, int) else size
            for size in (one, other)
        ]
        return self._rewriter.insert(ComputeOp("mul", factors)).result

    def _add(self, op: EdgeOp | GetOp) -> SSAValue:
        return self._rewriter.insert(op).results[0]


def _key(symbol: GlobalOp) -> tuple[str, TensorType]:
    return symbol.key, symbol.type


def _floats(*sizes: Size | None) -> TensorType:
    return sized_tensor(f32, sizes)


def _times(one: Size | None, other: Size | None) -> Size | None:
    return None if one is None or other is None else one * other
