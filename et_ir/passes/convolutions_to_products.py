"""Compute convolutions as matrix products, for runtimes whose convolution is a plain loop and whose product is not.

```mlir
%1 = edge.convolution %x, %w, %b {…} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, tensor<64xf32>) -> …    // before

%0 = edge.constant_pad_nd %x {pad = [1, 1, 1, 1]} : (…) -> tensor<1x64x58x58xf32>                               // after
%1 = edge.as_strided_copy %0 {…} : (…) -> tensor<64x3x3x56x56xf32>
%2 = edge.mm %w2, %1v : (tensor<64x576xf32>, tensor<576x3136xf32>) -> tensor<64x3136xf32>
%3 = edge.add.Tensor %2, %b2 : (tensor<64x3136xf32>, tensor<64x1xf32>) -> …
```

(`%w2`, `%b2` and `%1v` are views.) This is *im2col*: one copy lays out, for each tap of the kernel, the inputs that it
meets; for kernels of size 1 with stride 1 it is the input itself. The copy is as many times as large as the input as
the kernel has taps, so it is made for as many rows of the output at a time as fit in `scratch` bytes, and the products
are concatenated. It lives in what the program needs elsewhere anyway: a convolution stays where a single row would not
fit below the most that any op needs at once, plus `room` bytes. On stock's portable kernels a convolution of 64 by 64
channels, 3 by 3 taps and 56 by 56 outputs takes 1200 ms, and 5 ms so.

Taken are convolutions of one or two dimensions of one image, that are not transposed and not grouped. Sums are added in
another order, so results differ by rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.aten.inference.dtypes import dtype_of
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.generated import ops as edge
from et_ir.dialects.program.attributes import item_size
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.passes.live_bytes import LiveBytes, bytes_of_value
from et_ir.passes.rewriting import rewrite

__all__ = ["ConvolutionsToProductsPass"]


@dataclass(frozen=True)
class _Window:
    """A convolution of one image in two dimensions; sizes are rows first."""

    channels: int
    outputs: int
    size: tuple[int, int]
    taps: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @property
    def padded(self) -> tuple[int, int]:
        return self.size[0] + 2 * self.padding[0], self.size[1] + 2 * self.padding[1]

    @property
    def out(self) -> tuple[int, int]:
        rows, columns = (
            (padded - dilation * (taps - 1) - 1) // stride + 1
            for padded, taps, stride, dilation in zip(
                self.padded, self.taps, self.stride, self.dilation, strict=True
            )
        )
        return rows, columns

    @property
    def is_pointwise(self) -> bool:
        return self.taps == self.stride == (1, 1) and self.padding == (0, 0)


def _pair(values: Sequence[int], rank: int, missing: int) -> tuple[int, int]:
    """An argument per spatial dimension, for two of them."""
    given = tuple(values) * (rank if len(values) == 1 else 1)
    return (missing, given[0]) if rank == 1 else (given[0], given[1])


def _window(op: edge.ConvolutionOp) -> _Window | None:
    image, weight, result = (tensor_type(v) for v in (op.operands[0], op.operands[1], op.results[0]))
    rank = image.get_num_dims() - 2
    types = (image, weight, result)
    if rank not in (1, 2) or not all(map(is_static, types)) or op.transposed or op.groups != 1:
        return None
    if any(dim_order_of(t) != contiguous(t.get_num_dims()) for t in types):
        return None
    if image.get_shape()[0] != 1 or not dtype_of(image.element_type).is_float or 0 in result.get_shape():
        return None
    arguments = (op.stride, op.padding, op.dilation)
    if any(not isinstance(value, int) for values in arguments for value in values):
        return None
    stride, padding, dilation = (
        _pair([int(v) for v in values if isinstance(v, int)], rank, missing)
        for values, missing in zip(arguments, (1, 0, 1), strict=True)
    )
    size = image.get_shape()[2:]
    taps = weight.get_shape()[2:]
    return _Window(
        channels=image.get_shape()[1],
        outputs=weight.get_shape()[0],
        size=(size[0], size[1]) if rank == 2 else (1, size[0]),
        taps=(taps[0], taps[1]) if rank == 2 else (1, taps[0]),
        stride=stride,
        padding=padding,
        dilation=dilation,
    )


def _rows(op: edge.ConvolutionOp, window: _Window, scratch: int, live: LiveBytes, room: int) -> int:
    """How many rows of the output may be computed at a time, 0 if there is no memory for one."""
    size = item_size(tensor_type(op.results[0]).element_type)
    rows, columns = window.out
    result = bytes_of_value(op.results[0])
    # If nothing else needs the image, it is gone once it has been copied into its padding.
    image = bytes_of_value(op.operands[0]) if live.ends_at(op.operands[0], op) else 0
    padded = window.channels * prod(window.padded) * size if window.padding != (0, 0) else 0
    available = live.peak + room - (live.at(op) - result - image)
    if image + padded > available:
        return 0
    row = window.channels * prod(window.taps) * columns * size
    fitting = (available - (padded or image) - result) // row
    step = min(rows, fitting, max(1, scratch // row))
    return 0 if step < rows and 2 * result > available else max(0, step)


class ConvolutionIsProduct(RewritePattern):
    """Replaces one convolution; `rows` says how many rows of its output are computed at a time."""

    def __init__(self, rows: Mapping[Operation, int]):
        self.rows = rows

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConvolutionOp, rewriter: PatternRewriter) -> None:
        window, step = _window(op), self.rows.get(op, 0)
        if window is None or step == 0:
            return
        build = _Builder(op, window, rewriter)
        weight = build.view(op.operands[1], [window.outputs, window.channels * prod(window.taps)])
        rows, columns = window.out
        if window.is_pointwise:
            product = build.product(weight, build.view(op.operands[0], [window.channels, rows * columns]))
        else:
            padded = build.padded(op.operands[0])
            pieces = [
                build.product(weight, build.patches(padded, start, min(step, rows - start)))
                for start in range(0, rows, step)
            ]
            product = build.concatenated(pieces)
        if len(op.operands) > 2:
            product = build.sum(product, build.view(op.operands[2], [window.outputs, 1]))
        result = tensor_type(op.results[0])
        rewriter.replace(op, [], [build.view(product, result.get_shape())])


class _Builder:
    """Inserts the ops that replace a convolution."""

    def __init__(self, op: edge.ConvolutionOp, window: _Window, rewriter: PatternRewriter):
        self.window = window
        self.rewriter = rewriter
        self.element_type: Attribute = tensor_type(op.results[0]).element_type

    def _add(self, op: EdgeOp) -> SSAValue:
        return self.rewriter.insert(op).results[0]

    def _type(self, shape: Sequence[int]) -> list[Attribute]:
        return [TensorType(self.element_type, shape)]

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        if tensor_type(value).get_shape() == tuple(shape):
            return value
        return self._add(edge.ViewCopyOp.make(value, shape, result_types=self._type(shape)))

    def padded(self, image: SSAValue) -> SSAValue:
        """The image with its padding, as `(channels, rows, columns)`."""
        window = self.window
        image = self.view(image, [window.channels, *window.size])
        if window.padding == (0, 0):
            return image
        rows, columns = window.padding
        shape = [window.channels, *window.padded]
        pad = edge.ConstantPadNdOp.make(
            image, [columns, columns, rows, rows], 0.0, result_types=self._type(shape)
        )
        return self._add(pad)

    def patches(self, padded: SSAValue, start: int, rows: int) -> SSAValue:
        """What each tap meets, `(channels * taps, rows * columns)`, for output rows from `start`."""
        window = self.window
        height, width = window.padded
        columns = window.out[1]
        shape = [window.channels, *window.taps, rows, columns]
        strides = [
            height * width,
            window.dilation[0] * width,
            window.dilation[1],
            window.stride[0] * width,
            window.stride[1],
        ]
        offset = start * window.stride[0] * width
        copy = edge.AsStridedCopyOp.make(padded, shape, strides, offset, result_types=self._type(shape))
        return self.view(self._add(copy), [prod(shape[:3]), rows * columns])

    def product(self, weight: SSAValue, patches: SSAValue) -> SSAValue:
        shape = [self.window.outputs, tensor_type(patches).get_shape()[1]]
        return self._add(edge.MmOp.make(weight, patches, result_types=self._type(shape)))

    def concatenated(self, pieces: Sequence[SSAValue]) -> SSAValue:
        if len(pieces) == 1:
            return pieces[0]
        shape = [self.window.outputs, prod(self.window.out)]
        return self._add(edge.CatOp.make(pieces, 1, result_types=self._type(shape)))

    def sum(self, product: SSAValue, bias: SSAValue) -> SSAValue:
        return self._add(edge.AddTensorOp.make(product, bias, result_types=[product.type]))


@dataclass(frozen=True)
class ConvolutionsToProductsPass(ModulePass):
    """Compute convolutions as matrix products."""

    name = "convolutions-to-products"

    scratch: int = 1 << 20
    """Bytes that one copy of patches may take."""
    room: int = 0
    """Bytes by which the program may need more memory at once."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rows: dict[Operation, int] = {}
        live: dict[Block, LiveBytes] = {}
        for one in op.walk():
            if not isinstance(one, edge.ConvolutionOp) or one.parent is None:
                continue
            window = _window(one)
            if window is None:
                continue
            if window.is_pointwise:
                rows[one] = window.out[0]
                continue
            if one.parent not in live:
                live[one.parent] = LiveBytes(one.parent)
            rows[one] = _rows(one, window, self.scratch, live[one.parent], self.room)
        rewrite(op, [ConvolutionIsProduct(rows)])
