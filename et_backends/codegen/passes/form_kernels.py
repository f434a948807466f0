"""Kernel formation: edge ops that one kernel computes, with intermediate results in registers.

A kernel has at most one op with loops of its own, such as a product; pointwise ops that alone read its result, or each
other's, are computed with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.forms import INTEGER_FORMS, SPATIAL, factors_of, form_of
from et_backends.codegen.kernels.epilogue import fits_tiles
from et_backends.codegen.kernels.images import channel_dim
from et_backends.codegen.kernels.integer_rules import is_checked
from et_backends.codegen.passes.copy_factors import copy_factors
from et_backends.codegen.passes.expand_norms import expand_norms
from et_backends.codegen.passes.expand_products import expand_products
from et_backends.codegen.sizes import shape_of
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE
from et_ir.delegation.dependences import is_copied
from et_ir.dialects.control import MapOp, ScanOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["FormKernelsPass"]


ALONE: Final = frozenset({"gather", "move", "pad", "scan", "scatter", "shuffle", "sort"})
"""Forms of kernels that move elements, and compute nothing on the way."""


@dataclass(frozen=True)
class FormKernelsPass(ModulePass):
    """Group edge ops into `native.kernel` ops.

    A loop over slices is a kernel too, with the kernels of its body inside.

    Before:

    ```mlir
    %0 = edge.mm %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = edge.relu %0 : tensor<4x16xf32>
    ```

    After:

    ```mlir
    %1 = native.kernel "product"(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>):
      %2 = edge.mm %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %3 = edge.relu %2 : tensor<4x16xf32>
      native.yield %3 : tensor<4x16xf32>
    }
    ```
    """

    name = "form-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                block = function.body.block
                loops = [op for op in block.ops if isinstance(op, MapOp | ScanOp)]
                for inner in (*(loop.body.block for loop in loops), block):
                    expand_norms(inner)
                    expand_products(inner)
                    copy_factors(inner)
                    for group in _groups(inner):
                        _outline(group)
                for loop in loops:
                    _outline_loop(loop)


@dataclass(eq=False)
class _Group:
    """Ops of one kernel, the last first."""

    ops: list[SchemaOp] = field(default_factory=list[SchemaOp])
    form: str = "pointwise"
    before: set[Operation] = field(default_factory=set[Operation])
    """Of a row kernel, its anchor and the ops that are computed on the elements of a row."""


def _groups(block: Block) -> list[_Group]:
    """The kernels of a block, in the order of their last ops.

    From the end to the start, an op joins the group of its users if that is one group, and has results of
    its shape. As all its uses are then in the group, no path leaves a group and comes back.
    """
    of_op: dict[Operation, _Group] = {}
    groups: list[_Group] = []
    for op in reversed(list(block.ops)):
        if not isinstance(op, SchemaOp):
            continue
        form = form_of(op)
        product = _product_of(op)
        if product is not None:
            # Operands of a product of bytes, which is computed on what is stored.
            group = of_op[product]
            group.ops.append(op)
            of_op[op] = group
            continue
        if form is None:
            continue
        group = _joined(op, form, of_op)
        if group is None:
            group = _Group(form=form)
            groups.append(group)
        elif form != "pointwise":
            group.form = form
        if form == "rows" or (group.form == "rows" and _precedes_rows(op, group)):
            group.before.add(op)
        group.ops.append(op)
        of_op[op] = group
    return groups[::-1]


def _product_of(op: SchemaOp) -> SchemaOp | None:
    """The product of bytes that alone reads what an op dequantizes."""
    uses = list(op.results[0].uses)
    if not isinstance(op, DEQUANTIZE) or len(uses) != 1 or not isinstance(uses[0].operation, SchemaOp):
        return None
    user = uses[0].operation
    return user if op in factors_of(user) else None


def _joined(op: SchemaOp, form: str, of_op: dict[Operation, _Group]) -> _Group | None:
    """The group that an op is computed in, if its users are in one that can take it."""
    uses = [use.operation for result in op.results for use in result.uses]
    users = {id(of_op.get(user)): of_op.get(user) for user in uses}
    if len(users) != 1 or len([result for result in op.results if result.uses]) != 1:
        return None
    (group,) = users.values()
    if any(isinstance(user, SchemaOp) and _product_of(user) is not None for user in uses):
        return None  # What a product of bytes reads is in memory.
    if group is None or not ALONE.isdisjoint((form, group.form)):
        return None
    if form != "pointwise" and group.form != "pointwise":
        return None
    if (form, group.form) != ("pointwise", "pointwise") and any(map(is_checked, (op, *group.ops))):
        # Rows and tiles do not say which of their lanes have elements.
        return None
    if group.form == "rows" and _is_stored(op):
        return None
    if group.form == "rows":
        return group if _precedes_rows(op, group) or _follows_rows(op, group) else None
    if form not in ("pointwise", "rows") and not all(_fits(one, op) for one in group.ops):
        return None
    if group.form != "pointwise" and not (_follows_anchor(op, group) and _fits(op, _anchor(group))):
        return None
    root, type = tensor_type(group.ops[0].results[0]), tensor_type(op.results[0])
    if form in INTEGER_FORMS:
        return group if _same_shape(op.results[0], group.ops[0].results[0]) else None
    if form != "pointwise":
        # Its loops write what they compute.
        return group if type == root else None
    return group if _same_shape(op.results[0], group.ops[0].results[0]) else None


def _is_stored(op: SchemaOp) -> bool:
    """Whether an op quantizes what a product of bytes computes, whose kernel stores the integers then."""
    pending = list(op.operands[:1]) if isinstance(op, QUANTIZE) else []
    while pending:
        value = pending.pop()
        owner = value.owner
        if not isinstance(owner, SchemaOp) or isinstance(owner, DEQUANTIZE) or not value.has_one_use():
            continue
        form = form_of(owner)
        if form in INTEGER_FORMS:
            return True
        if form == "pointwise":
            pending += owner.operands
    return False


def _anchor(group: _Group) -> SchemaOp:
    """The op of a group that has loops of its own."""
    return next(one for one in group.ops if form_of(one) == group.form)


def _follows_anchor(op: SchemaOp, group: _Group) -> bool:
    """Whether an op is computed beside the results of a group's loops, and not before them."""
    anchor = _anchor(group)
    return not any(use.operation is anchor for use in op.results[0].uses)


def _precedes_rows(op: SchemaOp, group: _Group) -> bool:
    """Whether an op is computed on the elements of a row, and for nothing else."""
    anchor = next(one for one in group.ops if form_of(one) == "rows")
    uses = list(op.results[0].uses)
    return _same_shape(op.results[0], anchor.operands[0]) and all(
        use.operation in group.before and (use.operation is not anchor or use.index == 0) for use in uses
    )


def _follows_rows(op: SchemaOp, group: _Group) -> bool:
    """Whether an op is computed on the elements of the result, and not before them."""
    anchor = next(one for one in group.ops if form_of(one) == "rows")
    uses = [use.operation for use in op.results[0].uses]
    return _same_shape(op.results[0], anchor.results[0]) and group.before.isdisjoint(uses)


def _same_shape(value: SSAValue, other: SSAValue) -> bool:
    return shape_of(value) == shape_of(other)


def _fits(op: SchemaOp, anchor: SchemaOp) -> bool:
    """Whether each operand has an element for each place of the result, for each of its columns, or one element.

    Columns are the last dimension, or the channels of images.
    """
    last = tensor_type(op.results[0]).get_num_dims() - 1
    columns = channel_dim(anchor) if form_of(anchor) in SPATIAL else last
    tensors = [operand for operand in op.operands if is_tensor(operand.type)]
    return all(fits_tiles(operand, op.results[0], columns) for operand in tensors)


def _outline(group: _Group) -> None:
    """Move ops into a kernel at the place of the last."""
    ops = group.ops[::-1]
    last = ops[-1]
    inside = {result for op in ops for result in op.results}
    inputs: dict[SSAValue, None] = {}
    for op in ops:
        for operand in op.operands:
            if operand not in inside:
                inputs.setdefault(operand)
    outputs = [
        result for op in ops for result in op.results if any(use.operation not in ops for use in result.uses)
    ]
    block = Block(arg_types=[value.type for value in inputs])
    kernel = KernelOp(group.form, list(inputs), [value.type for value in outputs], Region(block))
    kernel.location = last.location
    parent = last.parent
    assert parent is not None
    parent.insert_op_before(kernel, last)
    for op in ops:
        op.detach()
        block.add_op(op)
    for value, argument in zip(inputs, block.args, strict=True):
        value.replace_uses_with_if(argument, lambda use: use.operation.parent is block)
    for value, result in zip(outputs, kernel.outputs, strict=True):
        result.name_hint = value.name_hint
        value.replace_uses_with_if(result, lambda use: use.operation.parent is not block)
    block.add_op(YieldOp(outputs))


def _outline_loop(loop: MapOp | ScanOp) -> None:
    """Make a loop a kernel, with the constants that its body reads inside."""
    parent = loop.parent
    assert parent is not None
    captured = {value: None for op in loop.walk() if op is not loop for value in op.operands}
    captured = [value for value in captured if not loop.is_ancestor(value.owner)]
    copied = [value for value in captured if isinstance(value.owner, Operation) and is_copied(value.owner)]
    inputs = list(dict.fromkeys([*loop.operands, *(value for value in captured if value not in copied)]))
    block = Block(arg_types=[value.type for value in inputs])
    types = [result.type for result in loop.results]
    kernel = KernelOp("loop", inputs, types, Region(block))
    kernel.location = loop.location
    parent.insert_op_before(kernel, loop)
    for result, output in zip(loop.results, kernel.outputs, strict=True):
        output.name_hint = result.name_hint
        result.replace_all_uses_with(output)
    loop.detach()
    for value in copied:
        assert isinstance(value.owner, Operation)
        clone = value.owner.clone()
        block.add_op(clone)
        value.replace_uses_with_if(
            clone.results[0], lambda use: use.operation is not loop and loop.is_ancestor(use.operation)
        )
    for value, argument in zip(inputs, block.args, strict=True):
        value.replace_uses_with_if(argument, lambda use: loop.is_ancestor(use.operation))
    block.add_op(loop)
    block.add_op(YieldOp(list(loop.results)))
