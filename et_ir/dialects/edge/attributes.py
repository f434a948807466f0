"""Memory layout of tensors at the edge level: the encoding of their type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.discardable import discardable
from et_ir.dialects.schema.tensors import layout_of, sized_tensor, sizes_of

__all__ = [
    "APART",
    "CHANNELS_LAST",
    "MEMORY",
    "DimOrderAttr",
    "contiguous",
    "dim_order_of",
    "is_channels_last",
    "with_dim_order",
]

APART: Final = discardable("edge.apart", IntegerAttr)
"""A number by which equal ops differ, so that they stay apart: what is computed again or in groups costs less memory
than what is kept. It has no other meaning.
"""
MEMORY: Final = discardable("edge.memory", IntegerAttr)
"""Bytes that what convolutions are lowered to may use in the regions of an op. `split-channels` leaves it, as it knows
the peak before there were groups, and `convolutions-to-products` takes it away.
"""


@irdl_attr_definition
class DimOrderAttr(ParametrizedAttribute):
    """The dimensions of a tensor from the outermost to the innermost in memory.

    `#edge.dim_order<0, 2, 3, 1>` is torch's `channels_last` for four dimensions. A tensor without this
    encoding is contiguous, which is never written out. Rules: `dim_order_c1` it is a permutation;
    `dim_order_c2` it is not the contiguous order.
    """

    name = "edge.dim_order"
    order: ArrayAttr[IntAttr] = param_def()

    @staticmethod
    def of(order: Sequence[int]) -> DimOrderAttr:
        """The attribute for a permutation of `0..rank-1`, interned."""
        return _attribute(tuple(order))

    @property
    def dims(self) -> tuple[int, ...]:
        return tuple(dim.data for dim in self.order)

    def verify(self) -> None:
        dims = self.dims
        if sorted(dims) != list(range(len(dims))):
            raise VerifyException(
                f"[dim_order_c1] {list(dims)} is not a permutation of {len(dims)} dimensions"
            )
        if dims == contiguous(len(dims)):
            raise VerifyException("[dim_order_c2] the contiguous order is the default: drop the encoding")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        dims = parser.parse_comma_separated_list(
            parser.Delimiter.ANGLE, lambda: parser.parse_integer(allow_boolean=False, allow_negative=False)
        )
        return [ArrayAttr([IntAttr(dim) for dim in dims])]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(str(dim) for dim in self.dims))


CHANNELS_LAST: Final = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
"""Torch's `channels_last` and `channels_last_3d` by rank."""


@cache
def _attribute(order: tuple[int, ...]) -> DimOrderAttr:
    return DimOrderAttr(ArrayAttr([IntAttr(dim) for dim in order]))


def contiguous(rank: int) -> tuple[int, ...]:
    """The order of a contiguous tensor."""
    return tuple(range(rank))


def dim_order_of(type: TensorType[Attribute]) -> tuple[int, ...]:
    """The order of a tensor type's dimensions in memory."""
    layout = layout_of(type)
    return layout.dims if isinstance(layout, DimOrderAttr) else contiguous(type.get_num_dims())


def with_dim_order(type: TensorType[Attribute], order: Sequence[int]) -> TensorType[Attribute]:
    """The same tensor type in another memory layout; the type itself if it has that layout.

    Raises `ValueError` if `order` is no permutation of the type's dimensions.
    """
    order = tuple(order)
    if order == dim_order_of(type):
        return type
    if sorted(order) != list(range(type.get_num_dims())):
        raise ValueError(f"dim order {list(order)} does not fit {type}")
    if order == contiguous(len(order)):
        return sized_tensor(type.element_type, sizes_of(type))
    return sized_tensor(type.element_type, sizes_of(type), DimOrderAttr.of(order))


def is_channels_last(type: TensorType[Attribute]) -> bool:
    """Whether a type says `channels_last` or `channels_last_3d`."""
    layout = layout_of(type)
    return isinstance(layout, DimOrderAttr) and layout.dims == CHANNELS_LAST.get(type.get_num_dims())
