"""Fusion of normalizations, such as RMSNorm, into one kernel of rows."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.kernels.pointwise_rules import POINTWISE, operator_name
from et_backends.codegen.kernels.rows import ROWS, is_normalization
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["FuseNormalizationPass"]


@dataclass(frozen=True)
class FuseNormalizationPass(ModulePass):
    """Compute rows in the kernel that reduces them.

    A reduction whose result, or what pointwise ops make of it, is alone read by a pointwise op on the elements of the
    row, as in RMSNorm. The row is in the first cache when it is read again.

    Before:

    ```mlir
    %0 = edge.mul.Tensor %x, %x : tensor<4x256xf32>
    %1 = edge.mean.dim %0 {dim = [-1], keepdim = true} : (tensor<4x256xf32>) -> tensor<4x1xf32>
    %2 = edge.rsqrt %1 : tensor<4x1xf32>
    %3 = edge.mul.Tensor %x, %2 : (tensor<4x256xf32>, tensor<4x1xf32>) -> tensor<4x256xf32>
    ```

    After:

    ```mlir
    %3 = native.kernel "rows"(%x) : (tensor<4x256xf32>) -> tensor<4x256xf32> { … }
    ```
    """

    name = "fuse-normalization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for inner in list(function.body.block.ops):
                    if isinstance(inner, SchemaOp) and inner.parent is not None:
                        found = _normalization(inner)
                        if found:
                            _outline(found)


def _normalization(anchor: SchemaOp) -> list[SchemaOp]:
    """The ops of a normalization by a reduction, in their order; none if it is not one."""
    if operator_name(anchor) not in ROWS or is_normalization(anchor):
        return []
    source, result = anchor.operands[0], anchor.results[0]
    if not tensor_type(source).has_static_shape():
        return []
    row, reduced = tensor_type(source).get_shape(), tensor_type(result).get_shape()
    if len(row) != len(reduced) or row == reduced:
        return []
    if len(row) > 3 and row[:-1] != reduced[:-1]:
        # Images have their channels innermost, which these loops would have to be given otherwise.
        return []
    before: list[SchemaOp] = []
    while isinstance(source.owner, SchemaOp) and _is_pointwise(source.owner):
        owner = source.owner
        if any(use.operation not in (anchor, *before) for use in source.uses):
            break
        if tensor_type(source).get_shape() != row or operator_name(owner) == "expand_copy":
            break
        before.insert(0, owner)
        if len(set(owner.operands)) != 1:
            break
        source = owner.operands[0]
    after: list[SchemaOp] = []
    spread: list[SchemaOp] = []
    value = result
    while value.has_one_use():
        (use,) = value.uses
        user = use.operation
        if not isinstance(user, SchemaOp) or user.parent is not anchor.parent or not _is_pointwise(user):
            break
        shape = tensor_type(user.results[0]).get_shape()
        if shape == reduced and not spread:
            after.append(user)
        elif shape == row:
            spread.append(user)
        else:
            break
        value = user.results[0]
    return [*before, anchor, *after, *spread] if spread else []


def _is_pointwise(op: SchemaOp) -> bool:
    """Whether an op is computed element by element, of f32 that the loops over rows can load."""
    return operator_name(op) in POINTWISE and all(
        is_tensor(value.type) and value.type.element_type == f32 for value in op.operands
    )


def _outline(ops: list[SchemaOp]) -> None:
    """Move ops into a kernel at the place of the last."""
    last = ops[-1]
    result = last.results[0]
    inside = {value for op in ops for value in op.results}
    inputs = list(dict.fromkeys(operand for op in ops for operand in op.operands if operand not in inside))
    block = Block(arg_types=[value.type for value in inputs])
    copies: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in ops:
        copy = op.clone(copies)
        copy.location = op.location
        block.add_op(copy)
    block.add_op(YieldOp([copies[result]]))
    kernel = KernelOp("rows", inputs, [result.type], Region(block))
    kernel.location = last.location
    parent = last.parent
    assert parent is not None
    parent.insert_op_before(kernel, last)
    kernel.outputs[0].name_hint = result.name_hint
    result.replace_all_uses_with(kernel.outputs[0])
    left: list[Operation] = list(ops)
    for op in reversed(left):
        parent.erase_op(op)
