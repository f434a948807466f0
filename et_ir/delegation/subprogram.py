"""A partition as a program of its own, which a backend compiles."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from et_ir.analysis.bounds import SizeBounds
from et_ir.dialects.backend import PartitionOp, YieldOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import DeclareOperatorOp, Globals, RangeOp
from et_ir.dialects.schema.sizes import RANGES, stated_ranges
from et_ir.dialects.schema.tensors import is_tensor, sizes_of
from et_ops.sizes import Expression

__all__ = ["FORWARD", "state_bounds", "subprogram"]

FORWARD = "forward"


def subprogram(partition: PartitionOp, symbols: Globals, bounds: SizeBounds) -> ModuleOp:
    """A module with one method, `forward`, that computes what a partition does; the partition stays as it is.

    The module has the symbols that the partition uses, whose bytes are those of the program, not copies. What is known
    of the sizes of its inputs, it states.
    """
    block = Block(arg_types=[value.type for value in partition.inputs])
    mapping: dict[SSAValue, SSAValue] = {}
    names: list[str] = []
    for index, (inner, argument) in enumerate(zip(partition.body.block.args, block.args, strict=True)):
        mapping[inner] = argument
        argument.name_hint = inner.name_hint
        names.append(inner.name_hint or f"input_{index}")
    for value, argument in zip(partition.inputs, block.args, strict=True):
        state_bounds(bounds, value, argument, block, None, partition)
    used: dict[str, None] = {}
    for op in partition.body.block.ops:
        if isinstance(op, YieldOp):
            end = ReturnOp(*(mapping[value] for value in op.values))
            end.location = op.location
            block.add_op(end)
            continue
        for inner in op.walk():
            symbol = inner.properties.get("symbol")
            if isinstance(symbol, SymbolRefAttr):
                used[symbol.string_value()] = None
        block.add_op(op.clone(mapping))
    function = FuncOp(
        FORWARD,
        ([argument.type for argument in block.args], [output.type for output in partition.outputs]),
        Region(block),
        arg_attrs=ArrayAttr(
            DictionaryAttr({"program.name": StringAttr(name)}) for name in dict.fromkeys(_unique(names))
        ),
    )
    function.location = partition.location
    stated = stated_ranges(partition)
    if stated is not None:
        function.attributes[RANGES] = stated
    operators = {op.name for op in function.walk()}
    declared = [
        op.clone()
        for op in symbols.module.body.block.ops
        if isinstance(op, DeclareOperatorOp) and any(made.name in operators for made in op.classes())
    ]
    return ModuleOp([*declared, *(symbols[name].clone() for name in used), function])


def _unique(names: list[str]) -> list[str]:
    seen: set[str] = set()
    found: list[str] = []
    for name in names:
        number, one = 0, name
        while one in seen:
            number += 1
            one = f"{name}_{number}"
        seen.add(one)
        found.append(one)
    return found


def state_bounds(
    bounds: SizeBounds,
    known: SSAValue,
    value: SSAValue,
    block: Block,
    before: Operation | None,
    like: Operation,
) -> None:
    """Say of a value how large each size of it can get for which its type has no expression, as is known of another: in
    front of an op, or at the end of a block.
    """
    if not is_tensor(known.type) or known.type.has_static_shape():
        return
    for dim, (size, most) in enumerate(zip(sizes_of(known.type), bounds.sizes(known), strict=True)):
        if isinstance(size, int | Expression) or most is None:
            continue
        number = edge.SymSizeIntOp.make(value, dim)
        for op in (number, RangeOp(number.result, 0, most)):
            op.location = like.location
            if before is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, before)
