"""Products of a batch whose right matrices are repeated: neighbors that read one matrix become rows of one product."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["ShareMatricesPass"]


@dataclass(frozen=True)
class ShareMatricesPass(ModulePass):
    """Multiply matrices that a batch repeats once.

    Heads of a group of queries share keys and values, which models repeat for each of them. In a cache that is a copy
    of all of it for each token.

    Before, for two groups of four heads:

    ```mlir
    %0 = edge.expand_copy %k {size = [2, 4, 32, 64]} : (tensor<2x1x32x64xf32>) -> tensor<2x4x32x64xf32>
    %1 = edge.view_copy %0 {size = [8, 32, 64]} : (tensor<2x4x32x64xf32>) -> tensor<8x32x64xf32>
    %2 = edge.bmm %q, %1 : (tensor<8x1x32xf32>, tensor<8x32x64xf32>) -> tensor<8x1x64xf32>
    ```

    After:

    ```mlir
    %0 = edge.view_copy %k {size = [2, 32, 64]} : (tensor<2x1x32x64xf32>) -> tensor<2x32x64xf32>
    %1 = edge.view_copy %q {size = [2, 4, 32]} : (tensor<8x1x32xf32>) -> tensor<2x4x32xf32>
    %2 = edge.bmm %1, %0 : (tensor<2x4x32xf32>, tensor<2x32x64xf32>) -> tensor<2x4x64xf32>
    %3 = edge.view_copy %2 {size = [8, 1, 64]} : (tensor<2x4x64xf32>) -> tensor<8x1x64xf32>
    ```
    """

    name = "share-matrices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for inner in list(function.body.block.ops):
                    if isinstance(inner, SchemaOp) and operator_name(inner) == "bmm":
                        found = _repeated(inner.operands[1])
                        if found is not None:
                            _share(inner, found)


@dataclass(frozen=True)
class _Repeated:
    """Matrices that are repeated."""

    source: SSAValue
    """`[…, rows, columns]`."""
    is_transposed: bool
    """Whether the product reads them by columns."""
    steps: tuple[SchemaOp, ...]
    """The ops that repeat them, from the last."""


def _repeated(value: SSAValue) -> _Repeated | None:
    """The matrices of a batch, if each is repeated for its neighbors."""
    steps: list[SchemaOp] = []
    is_transposed = False
    while isinstance(owner := value.owner, SchemaOp):
        name = operator_name(owner)
        if name == "expand_copy":
            source, views = _through_views(owner.operands[0])
            found = _Repeated(source, is_transposed, (*steps, owner, *views))
            return found if _is_repeat(owner) else None
        if name == "permute_copy":
            rank = tensor_type(value).get_num_dims()
            dims = [int(dim) % rank for dim in owner.arg("dims")]
            if dims != [*range(rank - 2), rank - 1, rank - 2]:
                return None
            is_transposed = not is_transposed
        elif name != "view_copy" or not _keeps_matrices(owner):
            return None
        steps.append(owner)
        value = owner.operands[0]
    return None


def _through_views(value: SSAValue) -> tuple[SSAValue, list[SchemaOp]]:
    """Matrices before their batch was given another shape, and the ops that did so, from the last."""
    views: list[SchemaOp] = []
    while isinstance(owner := value.owner, SchemaOp) and operator_name(owner) == "view_copy":
        if not _keeps_matrices(owner):
            break
        views.append(owner)
        value = owner.operands[0]
    return value, views


def _keeps_matrices(view: SchemaOp) -> bool:
    """Whether a view gives the batch of matrices another shape, and nothing else."""
    before, after = (tensor_type(one).get_shape() for one in (view.operands[0], view.results[0]))
    return len(before) > 2 and min(before[-2:]) >= 0 and before[-2:] == after[-2:]


def _is_repeat(expand: SchemaOp) -> bool:
    """Whether an op repeats matrices along the last dimension of their batch, and along no other."""
    before, after = (tensor_type(one).get_shape() for one in (expand.operands[0], expand.results[0]))
    return (
        len(before) == len(after) > 2
        and min(after) > 0
        and before[-3] == 1 < after[-3]
        and before[:-3] == after[:-3]
        and before[-2:] == after[-2:]
    )


def _share(product: SchemaOp, found: _Repeated) -> None:
    block = product.parent
    assert block is not None

    def make(name: str, *args: Any, **options: Any) -> SSAValue:
        made = OP_BY_NAME[name].make(*args, location=product.location, **options)
        block.insert_op_before(made, product)
        return made.results[0]

    right = product.operands[1]
    left, views = _through_views(product.operands[0])
    batch, inner, columns = tensor_type(right).get_shape()
    *_, height, width = tensor_type(found.source).get_shape()
    number = prod(tensor_type(found.source).get_shape()[:-2])
    matrices = make("view_copy", found.source, [number, height, width])
    if found.is_transposed:
        matrices = make("permute_copy", matrices, [0, 2, 1])
    rows = make("view_copy", left, [number, -1, inner])
    made = make("bmm", rows, matrices)
    whole = make("view_copy", made, [batch, -1, columns], result_types=[product.results[0].type])
    product.results[0].replace_all_uses_with(whole)
    block.erase_op(product)
    for step in (*views, *found.steps):
        if step.parent is not None and step.results[0].first_use is None:
            step.parent.erase_op(step)
