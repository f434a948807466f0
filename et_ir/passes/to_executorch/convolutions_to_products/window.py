"""The geometry of a convolution of one image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.program.attributes import item_size
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import is_static, tensor_type

__all__ = ["Geometry", "Window", "is_plain", "pair", "window_of"]


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """The geometry of a window that moves over an image; sizes are rows first."""

    size: tuple[int, int]
    taps: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @property
    def padded(self) -> tuple[int, int]:
        """The size of the image with its padding."""
        return self.size[0] + 2 * self.padding[0], self.size[1] + 2 * self.padding[1]

    @property
    def out(self) -> tuple[int, int]:
        """The size of the result."""
        rows, columns = (
            (padded - dilation * (taps - 1) - 1) // stride + 1
            for padded, taps, stride, dilation in zip(
                self.padded, self.taps, self.stride, self.dilation, strict=True
            )
        )
        return rows, columns


@dataclass(frozen=True, kw_only=True)
class Window(Geometry):
    """A convolution of one image in two dimensions."""

    element_type: Attribute
    groups: int
    channels: int
    """Of the image, in all groups."""
    outputs: int

    @property
    def reach(self) -> int:
        """The number of rows of the padded image under a row of the result, including those between its taps."""
        return self.dilation[0] * (self.taps[0] - 1) + 1

    @property
    def is_pointwise(self) -> bool:
        """Whether each output meets the channels of one place only, which is the place of the output."""
        return self.taps == self.stride == (1, 1) and self.padding == (0, 0)

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return item_size(self.element_type)

    @property
    def depth(self) -> int:
        """The number of elements under the window of one output: the rows of the patch matrix."""
        return self.channels // self.groups * prod(self.taps)


def pair(values: Sequence[int], rank: int, missing: int) -> tuple[int, int]:
    """An argument per spatial dimension, for two of them."""
    given = tuple(values) * (rank if len(values) == 1 else 1)
    return (missing, given[0]) if rank == 1 else (given[0], given[1])


def is_plain(*types: TensorType[Attribute]) -> bool:
    """Whether tensors have known sizes, none of them 0, and lie row by row."""
    return all(
        is_static(t) and 0 not in t.get_shape() and dim_order_of(t) == contiguous(t.get_num_dims())
        for t in types
    )


def window_of(op: edge.ConvolutionOp) -> Window | None:
    """The geometry of a convolution; None for several images, three dimensions, transposed convolutions, sizes that
    are known at run time only, integers, and layouts other than row by row.
    """
    image, weight, result = (tensor_type(v) for v in (op.operands[0], op.operands[1], op.results[0]))
    rank = image.get_num_dims() - 2
    if rank not in (1, 2) or op.transposed or not isinstance(op.groups, int):
        return None
    if not is_plain(image, weight, result) or image.get_shape()[0] != 1:
        return None
    arguments = (op.stride, op.padding, op.dilation)
    if not dtype_of(image.element_type).is_float:
        return None
    if any(not isinstance(value, int) for values in arguments for value in values):
        return None
    stride, padding, dilation = (
        pair([int(v) for v in values if isinstance(v, int)], rank, missing)
        for values, missing in zip(arguments, (1, 0, 1), strict=True)
    )
    return Window(
        element_type=image.element_type,
        groups=op.groups,
        channels=image.get_shape()[1],
        outputs=weight.get_shape()[0],
        size=pair(image.get_shape()[2:], rank, 1),
        taps=pair(weight.get_shape()[2:], rank, 1),
        stride=stride,
        padding=padding,
        dilation=dilation,
    )
