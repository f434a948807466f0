"""Transposed convolutions as sub-pixel convolutions.

Each place of the period that a stride makes sees taps of its own: its results are a convolution of the whole image by
these taps, which are the sub-filters of the polyphase decomposition. All places together are one convolution with as
many times the channels, and a pixel shuffle: Shi et al., "Is the deconvolution layer the same as a convolutional
layer?", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.sizes import Size, has_known_sizes
from et_ir.analysis.quantization import Granularity, dequantized, quantization_of
from et_ir.data import Blob
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.sizes import size_operand
from et_ir.dialects.program import ComputeOp, GetOp, GlobalOp, Globals, LiteralOp
from et_ir.dialects.schema.tensors import sized_tensor, sizes_of, tensor_type
from et_ir.evaluation.arrays import numpy_dtype
from et_ir.rewriting import op_type_rewrite_pattern, rewrite
from et_ops.dtypes import I8

__all__ = ["TransposedToConvolutionsPass"]

_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_END: Final = 2**63 - 1
"""The end of a slice that ends with the tensor."""


@dataclass(frozen=True)
class TransposedToConvolutionsPass(ModulePass):
    """Replace transposed convolutions by convolutions.

    Before:

    ```mlir
    %w = program.get @w : tensor<4x8x4xf32>
    %1 = edge.convolution %0, %w, none {stride = [2], padding = [1], transposed = true, …}
        : (tensor<1x4x?xf32, #program.sizes<s0>>, …) -> tensor<1x8x?xf32, #program.sizes<2*s0>>
    ```

    Those of dynamic size with constant filters, and those of integers: for others of known size there are kernels.
    After:

    ```mlir
    %w = program.get @w_phases : tensor<16x4x2xf32>
    %1 = edge.convolution %0, %w, none {stride = [1], padding = [1], transposed = false, …}
        : … -> tensor<1x16x?xf32, #program.sizes<s0 + 1>>
    %2 = edge.view_copy %1 … -> tensor<1x8x2x?xf32, #program.sizes<s0 + 1>>
    %3 = edge.permute_copy %2 {dims = [0, 1, 3, 2]} : … -> tensor<1x8x?x2xf32, #program.sizes<s0 + 1>>
    %4 = edge.view_copy %3 … -> tensor<1x8x?xf32, #program.sizes<2*s0 + 2>>
    %5 = edge.slice_copy.Tensor %4 {dim = 2, start = 1, end = -1} : … -> tensor<1x8x?xf32, #program.sizes<2*s0>>
    ```

    Of filters that are dequantized, the integers are rearranged and the scales repeated; images of known size whose
    strides are equal are shuffled by one op.
    """

    name = "transposed-to-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_ToConvolution(Globals(op))])


@dataclass(frozen=True)
class _Phases:
    """A dimension of a transposed convolution, as a convolution of the phases that a stride makes."""

    stride: int
    dilation: int
    taps: int
    """Taps of each phase."""
    padding: int
    """Zeros on each side of the input."""
    start: int
    end: int
    """Results that are cut from both ends."""

    @staticmethod
    def of(window: int, stride: int, padding: int, dilation: int, more: int) -> _Phases:
        """Of a filter of `window` taps with these arguments; `more` is what is added to the end of the results."""
        reach = dilation * (window - 1) + 1
        taps = -(-max(reach, reach + more - padding) // stride)
        end = taps * stride - reach + padding - more
        # Whole periods that are cut from both ends need not be computed.
        spared = min(padding // stride, end // stride, taps - 1)
        return _Phases(
            stride, dilation, taps, taps - 1 - spared, padding - spared * stride, end - spared * stride
        )

    def size(self, given: Size) -> Size:
        """The size of the convolution's results, of one phase, for the input's."""
        return given + 2 * self.padding - (self.taps - 1)


@dataclass
class _ToConvolution(RewritePattern):
    symbols: Globals
    constants: dict[tuple[str, str, tuple[_Phases, ...]], GlobalOp] = field(
        default_factory=dict[tuple[str, str, tuple[_Phases, ...]], GlobalOp]
    )
    """Filters of phases and repeated biases, by the symbols that they are made of."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConvolutionOp, rewriter: PatternRewriter) -> None:
        image, weight, bias = op.arg("input"), op.arg("weight"), op.arg("bias")
        restored = self._restored(op)
        filters = self._constant(weight) if restored is None else self._constant(restored.operands[0], i8)
        offsets = None if bias is None else self._constant(bias)
        rank = tensor_type(image).get_num_dims() - 2
        if (
            not op.arg("transposed")
            or rank not in ((1, 2, 3) if restored is None else (1, 2))
            or tensor_type(image).has_static_shape() == (restored is None)
            or not (has_known_sizes(image) and has_known_sizes(op.results[0]))
            or filters is None
            or (bias is not None and offsets is None)
        ):
            return
        arguments = [op.arg(name) for name in ("stride", "padding", "dilation", "output_padding")]
        groups = op.arg("groups")
        if any(isinstance(one, SSAValue) for one in chain(*arguments)) or isinstance(groups, SSAValue):
            return
        windows = tensor_type(weight).get_shape()[2:]
        phases = tuple(
            _Phases.of(window, *(int(one[dim if len(one) == rank else 0]) for one in arguments))
            for dim, window in enumerate(windows)
        )
        build = _Builder(op, rewriter)
        read = build.constant(self._filters(filters, phases, int(groups)))
        if restored is not None:
            scales = self._scales(restored)
            assert scales is not None
            read = build.dequantized(restored, read, build.constant(self._repeated(scales, phases)))
        shift = None if offsets is None else build.constant(self._repeated(offsets, phases))
        rewriter.replace(op, [], [build.interleaved(image, read, shift, phases, int(groups))])
        if restored is not None and not restored.results[0].uses:
            rewriter.erase(restored)

    def _constant(self, value: SSAValue, element: Attribute = f32) -> GlobalOp | None:
        """A constant of floats, or other elements, in the order of its dimensions; None for another value."""
        found = self.symbols.constant_of(value)
        type = tensor_type(value)
        plain = type.element_type == element and dim_order_of(type) == contiguous(type.get_num_dims())
        return found if found is not None and found.value is not None and plain else None

    def _restored(self, op: edge.ConvolutionOp) -> edge.QuantizedDecomposedDequantizePerChannelOp | None:
        """What dequantizes the filters of a convolution of bytes of one group; None for another one."""
        image, weight = dequantized(op.arg("input")), op.arg("weight").owner
        if image is None or not isinstance(weight, edge.QuantizedDecomposedDequantizePerChannelOp):
            return None
        read, filters = (quantization_of(one, self.symbols) for one in (image, weight))
        by_bytes = read.granularity is Granularity.TENSOR and not read.is_dynamic and filters.dtype is I8
        if not by_bytes or filters.axis != 1 or not filters.is_symmetric or op.arg("groups") != 1:
            return None
        return weight if self._scales(weight) is not None else None

    def _scales(self, op: edge.QuantizedDecomposedDequantizePerChannelOp) -> GlobalOp | None:
        scales = op.arg("scales")
        return self._constant(scales, tensor_type(scales).element_type)

    def _filters(self, constant: GlobalOp, phases: tuple[_Phases, ...], groups: int) -> GlobalOp:
        """Filters `[group * channel * phase][input][tap...]` of `[group * input][channel][tap...]`."""
        shape = constant.type.get_shape()
        inputs, channels, windows = shape[0] // groups, shape[1], shape[2:]
        count = prod(one.stride for one in phases)
        made = (groups * channels * count, inputs, *(one.taps for one in phases))

        def compute(held: _Array) -> _Array:
            spread = np.zeros(
                (groups, inputs, channels, *(one.taps * one.stride for one in phases)), held.dtype
            )
            places = [
                slice(0, size * one.dilation, one.dilation) for size, one in zip(windows, phases, strict=True)
            ]
            spread[(..., *places)] = held.reshape(groups, inputs, channels, *windows)
            # For each dimension the tap, and the phase. A convolution reads the image in the other direction.
            parts = spread.reshape(
                groups, inputs, channels, *chain(*((one.taps, one.stride) for one in phases))
            )
            taps, phase = range(3, parts.ndim, 2), range(4, parts.ndim, 2)
            return np.flip(parts, tuple(taps)).transpose(0, 2, *phase, 1, *taps)

        return self._derived("phases", constant, phases, made, compute)

    def _repeated(self, constant: GlobalOp, phases: tuple[_Phases, ...]) -> GlobalOp:
        """A number for each channel, as a bias, `[channel * phase]` of `[channel]`."""
        count = prod(one.stride for one in phases)
        made = (constant.type.get_shape()[0] * count,)
        return self._derived("repeated", constant, phases, made, lambda held: held.repeat(count))

    def _derived(
        self,
        hint: str,
        constant: GlobalOp,
        phases: tuple[_Phases, ...],
        shape: tuple[int, ...],
        compute: Callable[[_Array], _Array],
    ) -> GlobalOp:
        key = (hint, constant.key, phases)
        if key not in self.constants:
            assert constant.value is not None
            source, name = constant.value.blob, f"{constant.key}_{hint}"
            element = constant.type.element_type
            dtype = numpy_dtype(element)

            def data() -> memoryview:
                return (
                    np.ascontiguousarray(compute(np.frombuffer(source.view(), dtype)))
                    .reshape(-1)
                    .view(np.uint8)
                    .data
                )

            blob = Blob.derived(name, dtype.itemsize * prod(shape), data)
            self.constants[key] = self.symbols.add_constant(name, TensorType(element, shape), blob)
        return self.constants[key]


class _Builder:
    """Inserts the ops that replace a convolution."""

    def __init__(self, op: edge.ConvolutionOp, rewriter: PatternRewriter):
        self._op, self._rewriter = op, rewriter

    def constant(self, symbol: GlobalOp) -> SSAValue:
        """The value of a constant."""
        return self._rewriter.insert(GetOp(symbol.key, symbol.type)).result

    def dequantized(
        self, op: edge.QuantizedDecomposedDequantizePerChannelOp, integers: SSAValue, scales: SSAValue
    ) -> SSAValue:
        """Integers with a scale for each row, as those of another op are restored, and no zero points."""
        arguments: dict[str, Any] = op.args() | {
            "input": integers,
            "scales": scales,
            "zero_points": None,
            "axis": 0,
        }
        sizes = tensor_type(integers).get_shape()
        return self._add(type(op).make(**arguments, result_types=self._types(*sizes)))

    def interleaved(
        self,
        image: SSAValue,
        filters: SSAValue,
        bias: SSAValue | None,
        phases: Sequence[_Phases],
        groups: int,
    ) -> SSAValue:
        """The results of the convolution of all phases, at their places."""
        rank = len(phases)
        batch, _, *given = sizes_of(tensor_type(image))
        sizes = [phase.size(size) for phase, size in zip(phases, given, strict=True) if size is not None]
        channels = tensor_type(self._op.results[0]).get_shape()[1]
        count = tensor_type(filters).get_shape()[0]
        ones = (1,) * rank
        convolution = edge.ConvolutionOp.make(
            image,
            filters,
            bias,
            ones,
            tuple(phase.padding for phase in phases),
            ones,
            False,
            (0,) * rank,
            groups,
            result_types=self._types(batch, count, *sizes),
        )
        value = self._add(convolution)
        strides = [phase.stride for phase in phases]
        is_shuffle = rank == 2 and strides[0] == strides[1]
        if count != channels and is_shuffle and tensor_type(value).has_static_shape():
            # One kernel, which keeps channels innermost.
            sizes = [size * strides[0] for size in sizes]
            types = self._types(batch, channels, *sizes)
            value = self._add(edge.PixelShuffleOp.make(value, strides[0], result_types=types))
        elif count != channels:
            first, *measured = (size_operand(value, dim, self._rewriter) for dim in (0, *range(2, rank + 2)))
            parts = (batch, channels, *strides, *sizes)
            value = self._add(
                edge.ViewCopyOp.make(
                    value, (first, channels, *strides, *measured), result_types=self._types(*parts)
                )
            )
            order = (0, 1, *chain(*((2 + rank + dim, 2 + dim) for dim in range(rank))))
            value = self._add(
                edge.PermuteCopyOp.make(
                    value, order, result_types=self._types(*(parts[dim] for dim in order))
                )
            )
            sizes = [size * stride for size, stride in zip(sizes, strides, strict=True)]
            target = [self._product(size, stride) for size, stride in zip(measured, strides, strict=True)]
            value = self._add(
                edge.ViewCopyOp.make(
                    value, (first, channels, *target), result_types=self._types(batch, channels, *sizes)
                )
            )
        for dim, phase in enumerate(phases):
            if phase.start or phase.end:
                sizes[dim] = sizes[dim] - (phase.start + phase.end)
                end = -phase.end if phase.end else _END
                types = self._types(batch, channels, *sizes)
                value = self._add(
                    edge.SliceCopyTensorOp.make(value, 2 + dim, phase.start, end, result_types=types)
                )
        return value

    def _types(self, *sizes: Size | None) -> list[Attribute]:
        return [sized_tensor(f32, sizes)]

    def _add(self, op: EdgeOp) -> SSAValue:
        return self._rewriter.insert(op).results[0]

    def _product(self, size: int | SSAValue, factor: int) -> int | SSAValue:
        if isinstance(size, int):
            return size * factor
        number = self._rewriter.insert(LiteralOp(factor)).results[0]
        return self._rewriter.insert(ComputeOp("mul", [size, number])).result
