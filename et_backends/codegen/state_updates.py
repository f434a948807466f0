"""Updates of mutable buffers: the ops between a load of state and the store of what replaces it.

An update that alone reads a buffer, and whose result is stored to it, is made in the memory of the buffer, which a
partition gets as an input and as an output. Others become kernels of the program: taken into a partition, all of the
buffer would be copied out of it.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.forms import VIEWS
from et_backends.codegen.kernels.gathers import SCATTERS
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_ir.dialects.program import LoadOp, StoreOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["is_made_in_place", "results_in_place", "updates_state"]

NESTED: Final = frozenset({"select_scatter", "slice_scatter"})
"""Those whose second operand is the part to replace, which may itself be the part with updates."""


def updates_state(op: SchemaOp) -> bool:
    """Whether an op is between a load of a mutable buffer and the store to it."""
    return _passes(op) and _is_loaded(op.operands[0]) and _is_stored(op.results[0])


def is_made_in_place(op: SchemaOp) -> bool:
    """Whether an op alone reads a mutable buffer, and its result is what is stored to it.

    A kernel of the code generator replaces the elements where they are then.
    """
    if operator_name(op) not in SCATTERS:
        return False
    source, result = op.operands[0], op.results[0]
    load = source.owner
    if not isinstance(load, LoadOp) or not source.has_one_use() or source.type != result.type:
        return False
    stores = [use.operation for use in result.uses if isinstance(use.operation, StoreOp)]
    return (
        tensor_type(source).has_static_shape()
        and [store.symbol for store in stores] == [load.symbol]
        and load.parent is op.parent is stores[0].parent
    )


def results_in_place(function: FuncOp) -> list[tuple[int, int]]:
    """The results of kernels that replace elements of an argument which nothing else reads, and that are returned: the
    number of the result, and of the argument.

    A kernel that takes the argument for its indices or new elements too reads it. Sizes are known, as those of state.
    """
    block = function.body.block
    end = block.last_op
    assert isinstance(end, ReturnOp)
    found: list[tuple[int, int]] = []
    for number, value in enumerate(end.arguments):
        kernel = value.owner
        if not isinstance(kernel, KernelOp) or kernel.form.data != "scatter":
            continue
        inside = anchor_of(kernel).operands[0]
        source = kernel.outside()[inside]
        once = inside.has_one_use() and source.has_one_use() and [*end.arguments].count(value) == 1
        alike = source.type == value.type and tensor_type(source).has_static_shape()
        if source.owner is block and isinstance(source, BlockArgument) and once and alike:
            found.append((number, source.index))
    return found


def _passes(op: Operation) -> bool:
    return isinstance(op, SchemaOp) and (operator_name(op) in VIEWS or op.operator.facts.updates)


def _is_loaded(value: SSAValue) -> bool:
    while isinstance(value.owner, Operation) and _passes(value.owner):
        value = value.owner.operands[0]
    return isinstance(value.owner, LoadOp)


def _is_stored(value: SSAValue) -> bool:
    pending = [value]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, StoreOp):
                return True
            user = use.operation
            is_part = use.index == 1 and isinstance(user, SchemaOp) and operator_name(user) in NESTED
            if is_part or (use.index == 0 and _passes(user)):
                pending.append(user.results[0])
    return False
