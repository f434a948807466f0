"""Products of matrices, and of batches of them, in other forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from et_ir.analysis.choices import Form
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema.tensors import is_static, sizes_of, tensor_type

__all__ = ["BiasedLinear", "BiasedProduct", "SwappedBatch", "TransposedProduct"]


class BiasedProduct(Form):
    """`addmm` whose factors are 1."""

    name: ClassVar = "mm + add"

    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        if not isinstance(op, edge.AddmmOp) or op.alpha != 1 or op.beta != 1:
            return None
        bias, first, second = op.operands
        result = op.results[0].type
        product = edge.MmOp.make(first, second, result_types=[result])
        return [product, edge.AddTensorOp.make(product, bias, result_types=[result])]


class BiasedLinear(Form):
    """`addmm` whose factors are 1, of a matrix that is transposed and a bias for each column."""

    name: ClassVar = "linear"

    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        if not isinstance(op, edge.AddmmOp) or op.alpha != 1 or op.beta != 1:
            return None
        bias, first, second = op.operands
        turned = _turned_back(second)
        sizes = sizes_of(tensor_type(bias))
        if turned is None or None in sizes or sizes != sizes_of(tensor_type(second))[1:]:
            return None
        weight, built = turned
        return [*built, edge.LinearOp.make(first, weight, bias, result_types=[op.results[0].type])]

    def replaced(self, op: EdgeOp) -> Sequence[EdgeOp]:
        return [op, *_transposition(op.operands[2])]


class TransposedProduct(Form):
    """`mm` with a transposition that only products use."""

    name: ClassVar = "linear"

    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        turned = _turned_back(op.operands[1])
        if turned is None:
            return None
        weight, built = turned
        return [*built, edge.LinearOp.make(op.operands[0], weight, result_types=[op.results[0].type])]

    def replaced(self, op: EdgeOp) -> Sequence[EdgeOp]:
        return [op, *_transposition(op.operands[1])]


def _turned_back(matrix: SSAValue) -> tuple[SSAValue, Sequence[EdgeOp]] | None:
    """The transposition of a matrix that only products use, and the operators that it takes: none if the matrix is
    a transposition itself, one that is done at compile time if it is a constant.
    """
    for use in matrix.uses:
        user = use.operation
        if not (isinstance(user, edge.MmOp) and use.index == 1) and not (
            isinstance(user, edge.AddmmOp) and use.index == 2
        ):
            return None
    before = matrix.owner
    if isinstance(before, EdgeOp) and _swaps_matrix(before):
        return before.operands[0], ()
    type = tensor_type(matrix)
    if not isinstance(before, GetOp) or not is_static(type) or dim_order_of(type) != contiguous(2):
        return None
    turned: TensorType[Attribute] = TensorType(type.element_type, type.get_shape()[::-1])
    made = edge.PermuteCopyOp.make(matrix, (1, 0), result_types=[turned])
    return made.results[0], (made,)


def _transposition(matrix: SSAValue) -> Sequence[EdgeOp]:
    """The transposition that a matrix is, if it is one."""
    before = matrix.owner
    return [before] if isinstance(before, EdgeOp) and _swaps_matrix(before) else []


def _swaps_matrix(op: EdgeOp) -> bool:
    """Whether an op is the transposition of a matrix."""
    if isinstance(op, edge.TCopyOp):
        return tensor_type(op.operands[0]).get_num_dims() == 2
    return isinstance(op, edge.PermuteCopyOp) and [dim % 2 for dim in op.dims] == [1, 0] == list(op.dims)


class SwappedBatch(Form):
    """A batch of products `x yᵀ` as `(y xᵀ)ᵀ`: what is smaller is transposed, and `y` stays as it is."""

    name: ClassVar = "bmm, swapped"

    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        few, transposed = op.operands
        if any(not isinstance(use.operation, edge.BmmOp) or use.index != 1 for use in transposed.uses):
            return None
        before = _swapped(transposed)
        if before is None:
            return None
        types = [tensor_type(value) for value in (few, transposed, before.operands[0], before.results[0])]
        if any(not is_static(t) or dim_order_of(t) != contiguous(t.get_num_dims()) for t in types):
            return None
        batch, rows, depth = types[0].get_shape()
        columns = types[1].get_shape()[2]
        if types[3].get_shape()[-2:] != (depth, columns) or rows == 1 == columns:
            return None
        element = types[0].element_type
        product: TensorType[Attribute] = TensorType(element, (batch, columns, rows))
        many = _view(before.operands[0], (batch, columns, depth))
        turned = _turned(few, (batch, depth, rows))
        made = edge.BmmOp.make(many, turned, result_types=[product])
        return [many, turned, made, _turned(made.results[0], (batch, rows, columns))]

    def gain(self, op: EdgeOp) -> float:
        """Maximum relative cost: 2 where less is moved, as an operand that is not copied needs no memory."""
        _, rows, depth = tensor_type(op.operands[0]).get_shape()
        columns = tensor_type(op.operands[1]).get_shape()[2]
        return 2.0 if rows == 1 or rows * (depth + columns) < depth * columns else super().gain(op)

    def replaced(self, op: EdgeOp) -> Sequence[EdgeOp]:
        before = _swapped(op.operands[1])
        return [op] if before is None else [op, before]


def _swapped(batch: SSAValue) -> EdgeOp | None:
    """The op that exchanges the last two dimensions of what a batch is, or is a view of."""
    before = batch.owner
    if isinstance(before, edge.ViewCopyOp):
        before = before.operands[0].owner
    return before if isinstance(before, EdgeOp) and _swaps_last(before) else None


def _swaps_last(op: EdgeOp) -> bool:
    """Whether an op exchanges the last two dimensions."""
    rank = tensor_type(op.results[0]).get_num_dims()
    if rank < 3 or not isinstance(op, edge.PermuteCopyOp):
        return False
    return [dim % rank for dim in op.dims] == [*range(rank - 2), rank - 1, rank - 2]


def _view(value: SSAValue, sizes: Sequence[int]) -> EdgeOp:
    result: TensorType[Attribute] = TensorType(tensor_type(value).element_type, sizes)
    return edge.ViewCopyOp.make(value, sizes, result_types=[result])


def _turned(value: SSAValue, sizes: Sequence[int]) -> EdgeOp:
    """A batch of matrices transposed, which for vectors is a view."""
    if 1 in sizes[1:]:
        return _view(value, sizes)
    result: TensorType[Attribute] = TensorType(tensor_type(value).element_type, sizes)
    return edge.PermuteCopyOp.make(value, (0, 2, 1), result_types=[result])
