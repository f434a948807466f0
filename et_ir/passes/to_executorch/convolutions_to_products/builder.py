"""Builder of operators on images without a batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["TileBuilder"]


@lru_cache(maxsize=1024)
def _tensor(element_type: Attribute, shape: tuple[int, ...]) -> TensorType[Attribute]:
    """Interned: many tiles are alike."""
    return TensorType(element_type, shape)


class TileBuilder:
    """Builds operators, detached, on tensors of one element type that lie row by row."""

    def __init__(self, element_type: Attribute):
        self.element_type = element_type
        self.ops: list[EdgeOp] = []

    def _add(self, op: EdgeOp) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def _type(self, shape: Sequence[int]) -> list[Attribute]:
        return [_tensor(self.element_type, tuple(shape))]

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The sizes of a tensor."""
        return tensor_type(value).get_shape()

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same elements in another shape."""
        if self.shape(value) == tuple(shape):
            return value
        return self._add(edge.ViewCopyOp.make(value, shape, result_types=self._type(shape)))

    def part(self, value: SSAValue, start: int, count: int) -> SSAValue:
        """Some of the first dimension, which are neighbors in memory."""
        shape = self.shape(value)
        if count == shape[0]:
            return value
        made = edge.SliceCopyTensorOp.make(
            value, 0, start, start + count, 1, result_types=self._type([count, *shape[1:]])
        )
        return self._add(made)

    def rows(self, image: SSAValue, start: int, end: int) -> SSAValue:
        """Some rows of an image `(channels, rows, columns)`."""
        channels, height, width = self.shape(image)
        if (start, end) == (0, height):
            return image
        type = self._type([channels, end - start, width])
        return self._add(edge.SliceCopyTensorOp.make(image, 1, start, end, 1, result_types=type))

    def padded(
        self,
        image: SSAValue,
        padding: tuple[int, int],
        number: float = 0.0,
        *,
        above: int | None = None,
        below: int | None = None,
    ) -> SSAValue:
        """An image `(channels, rows, columns)` with rows and columns of a number around it; of rows as many as said."""
        channels, height, width = self.shape(image)
        rows, columns = padding
        above = rows if above is None else above
        below = rows if below is None else below
        if (above, below, columns) == (0, 0, 0):
            return image
        shape = [channels, above + height + below, width + 2 * columns]
        sides = [columns, columns, above, below]
        return self._add(edge.ConstantPadNdOp.make(image, sides, number, result_types=self._type(shape)))

    def strided(self, value: SSAValue, shape: Sequence[int], strides: Sequence[int], offset: int) -> SSAValue:
        """The elements at these distances in memory, copied."""
        return self._add(
            edge.AsStridedCopyOp.make(value, shape, strides, offset, result_types=self._type(shape))
        )

    def product(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """The product of two matrices, or of two batches of matrices."""
        op = edge.MmOp if len(self.shape(left)) == 2 else edge.BmmOp
        shape = [*self.shape(left)[:-1], self.shape(right)[-1]]
        return self._add(op.make(left, right, result_types=self._type(shape)))

    def joined(self, parts: Sequence[SSAValue], dim: int) -> SSAValue:
        """The concatenation of tensors."""
        if len(parts) == 1:
            return parts[0]
        shape = list(self.shape(parts[0]))
        shape[dim] = sum(self.shape(part)[dim] for part in parts)
        return self._add(edge.CatOp.make(parts, dim, result_types=self._type(shape)))

    def sum(self, value: SSAValue, other: SSAValue) -> SSAValue:
        """A sum that has the shape of the first."""
        return self._add(edge.AddTensorOp.make(value, other, result_types=[value.type]))

    def larger(self, value: SSAValue, other: SSAValue) -> SSAValue:
        """The larger of each two elements, not a number if one of them is not."""
        return self._add(edge.MaximumOp.make(value, other, result_types=[value.type]))
