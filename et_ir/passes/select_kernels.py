"""Say the same by the operators whose kernels are fastest.

| before | after | stock's portable kernels, 16k to 2M elements |
|---|---|---|
| `permute_copy` that exchanges two groups of dimensions | `transpose_copy.int` between views | 1.8 times as fast |
| `mm` with a transposed matrix | `linear` | no transposition: 15 times |
| `bmm` of few rows and a transposed batch | the few rows transposed instead | 20 to 60 times |
| `addmm` with factors 1 | `mm` and `add` | 80 times: only `mm` is blocked |

```mlir
%1 = edge.permute_copy %w {dims = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>                  // before
%2 = edge.mm %x, %1 : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>

%2 = edge.linear %x, %w : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>                   // after
```

Runs after everything that looks at the program's structure, partitioners among it. An operator is used only if the
target has its kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.generated import ops as edge
from et_ir.dialects.schema import parse_schema
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.passes.dce import erase_dead_ops
from et_ir.passes.rewriting import rewrite
from et_ir.targets.manifest import load_manifest

__all__ = ["SelectKernelsPass"]


def _has_kernel(kernels: frozenset[str], op: type[EdgeOp]) -> bool:
    return f"aten::{parse_schema(op.out_schema).qualified_name}" in kernels


def _swaps_matrix(op: object) -> bool:
    """Whether an op is the transposition of a matrix."""
    if isinstance(op, edge.TCopyOp):
        return tensor_type(op.operands[0]).get_num_dims() == 2
    return isinstance(op, edge.PermuteCopyOp) and [dim % 2 for dim in op.dims] == [1, 0] == list(op.dims)


class TransposedProductIsLinear(RewritePattern):
    """`mm` with a transposition that only products use."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.MmOp, rewriter: PatternRewriter) -> None:
        transposed = op.operands[1]
        before = transposed.owner
        if not isinstance(before, EdgeOp) or not _swaps_matrix(before):
            return
        if any(not isinstance(use.operation, edge.MmOp) or use.index != 1 for use in transposed.uses):
            return
        weight = before.operands[0]
        rewriter.replace(op, edge.LinearOp.make(op.operands[0], weight, result_types=[op.results[0].type]))


class SumOfProduct(RewritePattern):
    """`addmm` whose factors are 1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddmmOp, rewriter: PatternRewriter) -> None:
        if op.alpha != 1 or op.beta != 1:
            return
        bias, first, second = op.operands
        result = op.results[0].type
        product = edge.MmOp.make(first, second, result_types=[result])
        rewriter.replace(op, [product, edge.AddTensorOp.make(product, bias, result_types=[result])])


class TransposedBatchIsSwapped(RewritePattern):
    """A batch of products `x yᵀ` with few rows as `(y xᵀ)ᵀ`: what is small is transposed, and `y` stays as it is."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.BmmOp, rewriter: PatternRewriter) -> None:
        few, transposed = op.operands
        if any(not isinstance(use.operation, edge.BmmOp) or use.index != 1 for use in transposed.uses):
            return
        before = transposed.owner
        if isinstance(before, edge.ViewCopyOp):
            before = before.operands[0].owner
        if not isinstance(before, EdgeOp) or not _swaps_last(before):
            return
        types = [tensor_type(value) for value in (few, transposed, before.operands[0], before.results[0])]
        if any(not is_static(t) or dim_order_of(t) != contiguous(t.get_num_dims()) for t in types):
            return
        batch, rows, depth = types[0].get_shape()
        columns = types[1].get_shape()[2]
        if types[3].get_shape()[-2:] != (depth, columns) or rows == 1 == columns:
            return
        if rows > 1 and rows * (depth + columns) >= depth * columns:
            return
        element = types[0].element_type
        many = _view(before.operands[0], (batch, columns, depth), types[2], rewriter)
        product: TensorType[Attribute] = TensorType(element, (batch, columns, rows))
        turned = rewriter.insert(_turned(few, (batch, depth, rows))).results[0]
        made = edge.BmmOp.make(many, turned, result_types=[product])
        rewriter.replace(op, [made, _turned(made.results[0], (batch, rows, columns))])


def _turned(value: SSAValue, sizes: Sequence[int]) -> EdgeOp:
    """A batch of matrices transposed, which for vectors is a view."""
    result: TensorType[Attribute] = TensorType(tensor_type(value).element_type, sizes)
    if 1 in sizes[1:]:
        return edge.ViewCopyOp.make(value, sizes, result_types=[result])
    return edge.PermuteCopyOp.make(value, (0, 2, 1), result_types=[result])


def _swaps_last(op: EdgeOp) -> bool:
    """Whether an op exchanges the last two dimensions."""
    rank = tensor_type(op.results[0]).get_num_dims()
    if rank < 3 or not isinstance(op, edge.PermuteCopyOp):
        return False
    return [dim % rank for dim in op.dims] == [*range(rank - 2), rank - 1, rank - 2]


class PermutationIsTransposition(RewritePattern):
    """A permutation that exchanges two groups of neighbouring dimensions."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.PermuteCopyOp, rewriter: PatternRewriter) -> None:
        source, result = op.operands[0], op.results[0]
        type, after = tensor_type(source), tensor_type(result)
        if not is_static(type) or dim_order_of(type) != contiguous(type.get_num_dims()):
            return
        shape = type.get_shape()
        groups = _groups([dim % len(shape) for dim in op.dims], shape)
        order = sorted(range(len(groups)), key=lambda place: groups[place][0])
        # Where each group goes: an exchange of two if exactly two are not in their place.
        moved = [place for place, group in enumerate(order) if place != group]
        if len(moved) != 2:
            return
        sizes = [prod(shape[dim] for dim in groups[place]) for place in order]
        swapped = [sizes[i] for i in _exchanged(len(sizes), *moved)]
        if tuple(sizes) != shape and not _may_alias(source):
            return
        if tuple(swapped) != after.get_shape() and any(
            isinstance(use.operation, ReturnOp) for use in result.uses
        ):
            return
        value = _view(source, sizes, type, rewriter)
        element = type.element_type
        made = edge.TransposeCopyIntOp.make(value, *moved, result_types=[TensorType(element, swapped)])
        if tuple(swapped) == after.get_shape():
            rewriter.replace(op, made)
        else:
            view = edge.ViewCopyOp.make(made, after.get_shape(), result_types=[after])
            rewriter.replace(op, [made, view])


def _groups(order: Sequence[int], shape: Sequence[int]) -> list[list[int]]:
    """The source dimensions in their new order, neighbours that stay neighbours together, those of size 1 left out."""
    kept = [dim for dim, size in enumerate(shape) if size != 1]
    following = dict(pairwise(kept))
    groups: list[list[int]] = []
    for dim in order:
        if shape[dim] == 1:
            continue
        if groups and following.get(groups[-1][-1]) == dim:
            groups[-1].append(dim)
        else:
            groups.append([dim])
    return groups


def _exchanged(count: int, first: int, second: int) -> list[int]:
    places = list(range(count))
    places[first], places[second] = second, first
    return places


def _may_alias(value: SSAValue) -> bool:
    """Whether a view of a value costs nothing: it is computed, and so has memory that is planned."""
    return isinstance(value.owner, EdgeOp)


def _view(
    value: SSAValue, sizes: Sequence[int], type: TensorType[Attribute], rewriter: PatternRewriter
) -> SSAValue:
    if tuple(sizes) == type.get_shape():
        return value
    view = edge.ViewCopyOp.make(value, sizes, result_types=[TensorType(type.element_type, sizes)])
    return rewriter.insert(view).result


@dataclass(frozen=True)
class SelectKernelsPass(ModulePass):
    """Call the operators whose kernels are fastest."""

    name = "select-kernels"

    target: str = "stock-1.4"
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = load_manifest(self.target)
        products: list[RewritePattern] = []
        if _has_kernel(kernels, edge.LinearOp):
            products.append(TransposedProductIsLinear())
        if _has_kernel(kernels, edge.BmmOp):
            rewrite(op, [TransposedBatchIsSwapped()])
        if _has_kernel(kernels, edge.MmOp) and _has_kernel(kernels, edge.AddTensorOp):
            products.append(SumOfProduct())
        # `addmm` becomes `mm` first, which may then become `linear`.
        rewrite(op, products[1:])
        rewrite(op, products[:1])
        erase_dead_ops(op)
        if _has_kernel(kernels, edge.TransposeCopyIntOp):
            rewrite(op, [PermutationIsTransposition()])
