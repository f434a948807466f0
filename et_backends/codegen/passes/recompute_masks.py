"""Masks of attention that are computed again where they are read.

A mask has an element for each query and key. What it is computed of, such as positions, has one for each of either.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_backends.codegen.kernels.attention_operands import Attention, is_recomputed, match_attention
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_backends.codegen.kernels.rows import ROWS
from et_backends.codegen.passes.infer_view_sizes import infer_view_sizes
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, sizes_of, tensor_type

__all__ = ["RecomputeMasksPass"]

_Moved = dict[tuple[SSAValue, int], SSAValue]
"""Views that were made, by what they are of and how many dimensions they add."""


@dataclass(frozen=True)
class RecomputeMasksPass(ModulePass):
    """Compute masks of attention where they are read.

    Attention, and each reduction of its masks, computes them from what they are computed of.

    Views that give a mask more dimensions of size 1 move to its operands, so that it is computed by pointwise ops
    alone, which attention takes in. Those that a reduction reads are copied for it.

    Before:

    ```mlir
    %1 = edge.le.Tensor %keys, %positions : (tensor<512xi64>, tensor<40x1xi64>) -> tensor<40x512xi1>
    %2 = edge.view_copy %1 {size = [1, 1, 40, 512]} : (tensor<40x512xi1>) -> tensor<1x1x40x512xi1>
    %3 = edge.any.dim %2 {dim = -1, keepdim = true} : (tensor<1x1x40x512xi1>) -> tensor<1x1x40x1xi1>
    ... // attention with a mask of %2
    ```

    After:

    ```mlir
    %1 = edge.view_copy %positions {size = [1, 1, 40, 1]} : (tensor<40x1xi64>) -> tensor<1x1x40x1xi64>
    %2 = edge.le.Tensor %keys, %1 : (tensor<512xi64>, tensor<1x1x40x1xi64>) -> tensor<1x1x40x512xi1>
    %3 = edge.le.Tensor %keys, %1 : (tensor<512xi64>, tensor<1x1x40x1xi64>) -> tensor<1x1x40x512xi1>
    %4 = edge.any.dim %3 {dim = -1, keepdim = true} : (tensor<1x1x40x512xi1>) -> tensor<1x1x40x1xi1>
    ... // attention with a mask of %2
    ```
    """

    name = "recompute-masks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _recompute(function.body.block)


def _recompute(block: Block) -> None:
    infer_view_sizes(block)
    masks: set[SchemaOp] = set()
    moved: _Moved = {}
    for op in list(block.ops):
        if not isinstance(op, SchemaOp) or op.parent is not block:
            continue  # A view that moved is no op of the block any more.
        found = match_attention(op)
        while found is not None and (views := _views(found)):
            for view in views:
                _move(view, moved)
            found = match_attention(op)
        if found is not None:
            masks.update(one for one in found.pointwise if found.of_scores.isdisjoint(one.results))
    for op in list(block.ops):
        if isinstance(op, SchemaOp) and operator_name(op) in ROWS:
            copies: dict[SSAValue, SSAValue] = {}
            for number, operand in enumerate(op.operands):
                op.operands[number] = _copied(operand, masks, op, copies)


def _views(attention: Attention) -> list[SchemaOp]:
    """Views of masks that can move to the operands of what they are views of."""
    keys = attention.shape[-1]
    found: list[SchemaOp] = []
    for value in attention.beside:
        view = value.owner
        if not isinstance(view, SchemaOp) or operator_name(view) != "view_copy":
            continue
        source = view.operands[0].owner
        if isinstance(source, SchemaOp) and is_recomputed(source, keys) and _adds_dimensions(view):
            found.append(view)
    return found


def _adds_dimensions(view: SchemaOp) -> bool:
    """Whether a view does nothing but put dimensions of size 1 before those of a tensor."""
    before, after = (sizes_of(tensor_type(one)) for one in (view.operands[0], view.results[0]))
    more = len(after) - len(before)
    return more >= 0 and None not in after and after == (*[1] * more, *before)


def _move(view: SchemaOp, views: _Moved) -> None:
    """Compute what a view is of from views of its operands, of which there is one for all that read it.

    It follows the operand, so that it is before whatever reads that.
    """
    (source, *_), (result,) = view.operands, view.results
    owner = source.owner
    assert isinstance(owner, SchemaOp)
    rank = tensor_type(source).get_num_dims()
    more = tensor_type(result).get_num_dims() - rank
    block = view.parent
    assert block is not None
    copies: dict[SSAValue, SSAValue] = {}
    for operand in owner.operands:
        type = tensor_type(operand)
        if type.get_num_dims() == rank and more:
            sizes = [1] * more + [max(size, -1) for size in type.get_shape()]
            if (operand, more) not in views:
                made = OP_BY_NAME["view_copy"].make(operand, sizes, location=view.location)
                if isinstance(operand.owner, Block):
                    block.insert_op_before(made, block.first_op or view)
                else:
                    block.insert_op_after(made, operand.owner)
                views[operand, more] = made.results[0]
            copies[operand] = views[operand, more]
    copy = owner.clone(copies)
    copy.location = owner.location
    block.insert_op_before(copy, view)
    moved = Rewriter.replace_value_with_new_type(copy.results[0], result.type)
    moved.name_hint = result.name_hint
    result.replace_all_uses_with(moved)
    if views.get((source, more)) is result:
        views[source, more] = moved
    block.erase_op(view)
    if not any(one.uses for one in owner.results):
        block.erase_op(owner)


def _copied(
    value: SSAValue, masks: set[SchemaOp], before: SchemaOp, copies: dict[SSAValue, SSAValue]
) -> SSAValue:
    """A mask that is computed again before an op, each of its ops once; other values as they are."""
    owner = value.owner
    if owner not in masks:
        return value
    if value not in copies:
        assert isinstance(owner, SchemaOp)
        block = before.parent
        assert block is not None
        operands = {
            operand: _copied(operand, masks, before, copies)
            for operand in owner.operands
            if is_tensor(operand.type)
        }
        copy = owner.clone(operands)
        copy.location = owner.location
        block.insert_op_before(copy, before)
        copies[value] = copy.results[0]
    return copies[value]
