"""Permutations of what pointwise operators compute, where their operands are permuted too.

```mlir
%1 = aten.permute %x {dims = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>       // before
%2 = aten.relu %1 : tensor<1x8x8x3xf32>
%3 = aten.permute %2 {dims = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>

%1 = aten.relu %x : tensor<1x3x8x8xf32>                                                         // after
```

The permutation moves from the result to the operands, through all pointwise operators that nothing else uses, if fewer
elements are copied then: permutations that meet become one or none, those of constants are `constant-fold`'s, and
numbers have no dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from typing_extensions import TypeIs
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.dialects.counterparts import forms, sibling
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_static, is_tensor, tensor_type

__all__ = ["PermuteOperands"]

_PERMUTATIONS: Final = forms("permute")
_LONGEST: Final = 64
"""Operators that a permutation moves through at most."""


def _is_elementwise(op: object) -> TypeIs[SchemaOp]:
    """Whether an op computes one tensor from the elements of tensors at the same place, in any layout."""
    return (
        isinstance(op, SchemaOp)
        and op.operator.is_pointwise
        and len(op.schema().returns) == 1
        and not op.info().needs_segments
        and "memory_format" not in op.schema().by_name
    )


def _order(op: SchemaOp) -> list[int]:
    rank = tensor_type(op.operands[0]).get_num_dims()
    return [dim % rank for dim in op.arg("dims")]


def _elements(value: SSAValue) -> int:
    """The elements of a tensor, as far as its sizes are known."""
    return prod(size for size in tensor_type(value).get_shape() if size >= 0)


def _is_contiguous(value: SSAValue, rank: int) -> bool:
    """Whether a value is a contiguous tensor of so many dimensions."""
    type = value.type
    return is_tensor(type) and type.get_num_dims() == rank and dim_order_of(type) == contiguous(rank)


def _copies(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether a permutation copies elements: one that moves dimensions of size 1 is a view."""
    moved = [dim for dim in order if shape[dim] != 1]
    return moved != sorted(moved)


def _users(value: SSAValue) -> set[Operation]:
    return {use.operation for use in value.uses}


class _Cone:
    """The pointwise operators that a value is computed by, and that compute nothing for anyone else."""

    def __init__(self, top: Operation):
        rank = tensor_type(top.results[0]).get_num_dims()
        self.ops = {top}
        rest = [top]
        while rest and len(self.ops) < _LONGEST:
            for operand in rest.pop().operands:
                op = operand.owner
                if not _is_elementwise(op) or op in self.ops:
                    continue
                if _users(operand) <= self.ops and _is_contiguous(operand, rank):
                    self.ops.add(op)
                    rest.append(op)

    def leaves(self) -> Iterable[SSAValue]:
        """Operands of the operators from outside the group, each once; numbers and rank-0 tensors are left out."""
        found = {operand: None for op in self.ops for operand in op.operands if operand.owner not in self.ops}
        return [v for v in found if is_tensor(v.type) and v.type.get_num_dims()]


class PermuteOperands(RewritePattern):
    """The permutation of a pointwise result becomes those of the operands."""

    roots = _PERMUTATIONS

    def __init__(self, module: ModuleOp):
        self.globals = Globals(module)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, order = op.operands[0], _order(op)
        top = source.owner
        if not _is_elementwise(top) or not source.has_one_use() or order == sorted(order):
            return
        if not _is_contiguous(source, len(order)) or not _is_contiguous(op.results[0], len(order)):
            return
        cone = _Cone(top)
        copied, saved = 0, _elements(source)
        for leaf in cone.leaves():
            cost = self._cost(leaf, order)
            if cost is None:
                return
            copied += cost
            if isinstance(leaf.owner, _PERMUTATIONS) and _users(leaf) <= cone.ops:
                saved += _elements(leaf)
        if copied < saved:
            rewriter.replace(op, [], [self._moved(source, cone, order, op, rewriter, {})])

    def _cost(self, leaf: SSAValue, order: Sequence[int]) -> int | None:
        """Number of elements moved to permute an operand; `None` if it cannot be permuted."""
        type, rank = tensor_type(leaf), len(order)
        missing = rank - type.get_num_dims()
        if missing < 0 or (missing and not is_static(type)) or not _is_contiguous(leaf, rank - missing):
            return None
        before = leaf.owner
        if isinstance(before, _PERMUTATIONS) and not missing and _is_contiguous(before.operands[0], rank):
            inner = _order(before)
            shape = tensor_type(before.operands[0]).get_shape()
            return _elements(leaf) if _copies(shape, [inner[dim] for dim in order]) else 0
        shape = (*(1,) * missing, *type.get_shape())
        return _elements(leaf) if _copies(shape, order) and not self._folds(leaf) else 0

    def _folds(self, value: SSAValue) -> bool:
        """Whether a permutation of a value is computed at compile time, and the file does not grow by it."""
        symbol = self.globals.constant_of(value)
        known = symbol is not None and symbol.value is not None and symbol.value.blob.is_resolved
        return known and value.has_one_use()

    def _moved(
        self,
        value: SSAValue,
        cone: _Cone,
        order: Sequence[int],
        near: SchemaOp,
        rewriter: PatternRewriter,
        done: dict[SSAValue, SSAValue],
    ) -> SSAValue:
        """The permutation of a value, in front of an op."""
        type = value.type
        if not is_tensor(type) or type.get_num_dims() == 0:
            return value
        if value not in done:
            op = value.owner
            if op in cone.ops:
                assert isinstance(op, SchemaOp)
                operands = [self._moved(v, cone, order, near, rewriter, done) for v in op.operands]
                made = type_of(op).create(
                    operands=operands, result_types=[_permuted(type, order)], properties=op.properties
                )
                made.location = op.location
                done[value] = rewriter.insert(made, InsertPoint.before(near)).results[0]
            else:
                done[value] = self._permuted_leaf(value, order, near, rewriter)
        return done[value]

    @staticmethod
    def _permuted_leaf(
        value: SSAValue, order: Sequence[int], near: SchemaOp, rewriter: PatternRewriter
    ) -> SSAValue:
        type, point = tensor_type(value), InsertPoint.before(near)
        missing = len(order) - type.get_num_dims()
        if missing:
            type = TensorType(type.element_type, [*(1,) * missing, *type.get_shape()])
            view = sibling(near, "view").make(value, type.get_shape(), result_types=[type])
            value = rewriter.insert(view, point).results[0]
        before = value.owner
        if isinstance(before, _PERMUTATIONS) and _is_contiguous(before.operands[0], len(order)):
            inner = _order(before)
            value, order = before.operands[0], [inner[dim] for dim in order]
        if list(order) == sorted(order):
            return value
        result = _permuted(tensor_type(value), order)
        permutation = sibling(near, "permute").make(value, list(order), result_types=[result])
        return rewriter.insert(permutation, point).results[0]


def _permuted(type: TensorType[Attribute], order: Sequence[int]) -> TensorType[Attribute]:
    shape = type.get_shape()
    return TensorType(type.element_type, [shape[dim] for dim in order])


def type_of(op: SchemaOp) -> type[SchemaOp]:
    """The class of an op, as the type checker sees it."""
    return type(op)
