"""Ops on tensors along one of their dimensions, and scans: what stands at each place is combined with all before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import is_static, is_tensor, tensor_type
from et_ops.dtypes import DType

__all__ = ["Lines", "is_plain", "steps_of"]

Group = Sequence[SSAValue]
"""Tensors of one shape that are scanned together, such as values and where they come from."""


def is_plain(*values: SSAValue) -> bool:
    """Whether tensors have known sizes, elements, and their dimensions in order."""
    for value in values:
        if not is_tensor(value.type) or not is_static(value.type):
            return False
        rank = value.type.get_num_dims()
        if not prod(value.type.get_shape()) or dim_order_of(value.type) != contiguous(rank):
            return False
    return True


def steps_of(size: int) -> list[int]:
    """The distances of a scan of `size` elements: 1, 2, 4, ..."""
    return [1 << at for at in range((size - 1).bit_length())]


class Lines:
    """Builds ops on contiguous tensors of known sizes, along the dimension `dim`."""

    def __init__(self, rewriter: PatternRewriter, dim: int):
        self.rewriter, self.dim = rewriter, dim

    def __call__(self, cls: type[EdgeOp], /, *args: Any, **kwargs: Any) -> SSAValue:
        """The result of a new op, whose type is inferred."""
        return self.results(cls, *args, **kwargs)[0]

    def results(self, cls: type[EdgeOp], /, *args: Any, **kwargs: Any) -> Group:
        """All results of a new op."""
        return self.rewriter.insert(cls.make(*args, **kwargs)).results

    # -- tensors as they are

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        return tensor_type(value).get_shape()

    def dtype(self, value: SSAValue) -> DType:
        return dtype_of(tensor_type(value).element_type)

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements in another shape; itself if it has that shape."""
        if self.shape(value) == tuple(shape):
            return value
        return self(edge.ViewCopyOp, value, tuple(shape))

    def to(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value in another element type; itself if it has that type."""
        type = tensor_type(value)
        if type.element_type == element:
            return value
        result = TensorType[Attribute](element, type.get_shape())
        return self(edge.DimOrderOpsUnderscoreToDimOrderCopyOp, value, dtype=element, result_types=[result])

    def full(self, shape: Sequence[int], number: float, element: Attribute) -> SSAValue:
        """A tensor of equal elements."""
        type = TensorType[Attribute](element, shape)
        return self(edge.FullOp, tuple(shape), number, dtype=element, result_types=[type])

    def is_nan(self, value: SSAValue) -> SSAValue | None:
        """Mask of NaN, if the type has it."""
        return self(edge.IsnanOp, value) if self.dtype(value).is_float else None

    # -- along the dimension

    def length(self, value: SSAValue) -> int:
        """The size of the dimension."""
        return self.shape(value)[self.dim]

    def part(self, value: SSAValue, start: int, end: int) -> SSAValue:
        """From one place to another."""
        if (start, end) == (0, self.length(value)):
            return value
        return self(edge.SliceCopyTensorOp, value, self.dim, start, end)

    def joined(self, *values: SSAValue) -> SSAValue:
        """One after the other."""
        return self(edge.CatOp, values, self.dim)

    def padded(self, value: SSAValue, before: int, after: int, number: float) -> SSAValue:
        """More places with a number."""
        pads = [0, 0] * (len(self.shape(value)) - 1 - self.dim) + [before, after]
        return self(edge.ConstantPadNdOp, value, pads, number)

    def places_of(self, size: int) -> SSAValue:
        """The numbers from 0 on, as i64."""
        type = TensorType[Attribute](i64, [size])
        return self(edge.ArangeStartStepOp, 0, size, 1, dtype=i64, result_types=[type])

    def places(self, shape: Sequence[int]) -> SSAValue:
        """Index of each element along the dimension, as i64."""
        size = shape[self.dim]
        line = self.view(self.places_of(size), [size if at == self.dim else 1 for at in range(len(shape))])
        return line if self.shape(line) == tuple(shape) else self(edge.ExpandCopyOp, line, list(shape))

    def scanned(self, group: Group, combine: Callable[[Group, Group, int], Group]) -> Group:
        """Each element combined with all before it, in order, by doubling (Hillis and Steele, "Data Parallel
        Algorithms", 1986): `combine` gets what came before, what comes after, and how far apart they are. The number of
        passes over memory is the logarithm of the length.
        """
        size = self.length(group[0])
        for step in steps_of(size):
            before = [self.part(value, 0, size - step) for value in group]
            after = [self.part(value, step, size) for value in group]
            made = combine(before, after, step)
            group = [self.joined(self.part(old, 0, step), new) for old, new in zip(group, made, strict=True)]
        return group
