"""Merge transposes around images, moving them towards the results.

```mlir
%1 = "tosa.transpose"(%0) <{perms = array<i32: 0, 3, 1, 2>}> : …    // before: a convolution's result, to NCHW
%2 = "tosa.clamp"(%1) …
%3 = "tosa.transpose"(%2) <{perms = array<i32: 0, 2, 3, 1>}> : …    // to NHWC, for the next convolution

%2 = "tosa.clamp"(%0) …                                             // after
```

A transpose moves behind the op that reads it, if all operands of that are transposed alike or are constants: ops of
elements, `concat`, `pad`, `slice` and reductions. Two in a row become one, or none. One that moves only dimensions of
size one becomes a `reshape`, and two of these one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from et_backends.tosa.compiler.legalizer import Legalizer
from et_backends.tosa.dialect import ConstOp, TosaOp
from et_backends.tosa.dialect.attributes import ShapeType, shape_numbers
from et_backends.tosa.format.graph import Op
from et_backends.tosa.format.operators import ATTRIBUTES, POINTWISE
from et_ir.dialects.program import Globals
from et_ir.driver.stages import run_pipeline
from et_schema.tables import fields_of

__all__ = ["FoldTosaTransposesPass"]

_REDUCTIONS: Final = frozenset(
    {Op.REDUCE_ALL, Op.REDUCE_ANY, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.REDUCE_PRODUCT, Op.REDUCE_SUM}
)
_TENSORS: Final = {Op.MUL: 2, Op.NEGATE: 1, Op.PAD: 1, Op.SLICE: 1, Op.RESCALE: 1, Op.TABLE: 1}
"""Number of operands that are transposed with the result, where not all are."""


@dataclass(frozen=True)
class FoldTosaTransposesPass(ModulePass):
    """Merge the transposes around images."""

    name = "fold-tosa-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Globals(op)
        for method in op.body.block.ops:
            if isinstance(method, FuncOp):
                t = Legalizer(symbols)
                ops = method.body.block.ops
                for rewrite in (_sink, _simplify):
                    for one in [op for op in ops if isinstance(op, TosaOp)]:
                        t.before(one)
                        made = rewrite(t, one)
                        if made is not None:
                            _replace(one, made)
        run_pipeline(op, "cse,dce")


def _replace(op: TosaOp, made: SSAValue) -> None:
    made.name_hint = op.output.name_hint
    op.output.replace_all_uses_with(made)
    block = op.parent
    assert block is not None
    block.erase_op(op)


def _perms(value: SSAValue) -> tuple[int, ...] | None:
    """The permutation of a value that a transpose computes."""
    owner = value.owner
    if isinstance(owner, TosaOp) and owner.op is Op.TRANSPOSE:
        return tuple(owner.table().perms)
    return None


def _source(value: SSAValue) -> SSAValue:
    assert isinstance(value.owner, Operation)
    return value.owner.operands[0]


def _sink(t: Legalizer, op: TosaOp) -> SSAValue | None:
    """An op whose operands are transposed, as a transpose of the op on what was transposed."""
    kind = op.op
    if kind is Op.TRANSPOSE:
        inner, outer = _perms(op.inputs[0]), _perms(op.output)
        if inner is None or outer is None:
            return None
        return t.transpose(_source(op.inputs[0]), [inner[dim] for dim in outer])
    if (
        kind not in POINTWISE
        and kind not in _REDUCTIONS
        and kind not in (Op.CONCAT, Op.PAD, Op.SLICE, Op.RESCALE)
    ):
        return None
    table = op.table()
    if kind is Op.RESCALE and table.per_channel:
        return None
    count = _TENSORS.get(kind, len(op.inputs))
    tensors, rest = op.inputs[:count], op.inputs[count:]
    found = {perms for value in tensors if (perms := _perms(value)) is not None}
    if len(found) != 1:
        return None
    (perms,) = found
    back = [perms.index(dim) for dim in range(len(perms))]
    moved: list[SSAValue] = []
    for value in tensors:
        if _perms(value) is not None:
            moved.append(_source(value))
        elif isinstance(value.owner, ConstOp):
            moved.append(t.transpose(value, back))
        else:
            return None
    fields = {item.name: getattr(table, item.name) for item in fields_of(ATTRIBUTES[kind])}
    if "axis" in fields:
        fields["axis"] = perms[fields["axis"]]
    made = t.emit(kind, *moved, *_moved(t, rest, back), result=t.dtype(op.output), **fields)
    return t.transpose(made, perms)


def _moved(t: Legalizer, shapes: Sequence[SSAValue], back: Sequence[int]) -> list[SSAValue]:
    """Constant shapes with as many numbers for each dimension, in the order before a transpose."""
    made: list[SSAValue] = []
    for value in shapes:
        numbers = shape_numbers(value)
        if not isinstance(value.type, ShapeType) or numbers is None:
            made.append(value)
            continue
        each = len(numbers) // len(back)
        made.append(t.shape([number for dim in back for number in numbers[each * dim : each * dim + each]]))
    return made


def _simplify(t: Legalizer, op: TosaOp) -> SSAValue | None:
    """A transpose that moves nothing, or a reshape of a reshape, as at most one reshape."""
    if op.op is Op.TRANSPOSE:
        shape = t.shape_of(op.inputs[0])
        moving = [dim for dim in op.table().perms if shape[dim] != 1]
        if moving != sorted(moving):
            return None
        source = op.inputs[0]
    elif op.op is Op.RESHAPE:
        source = op.inputs[0]
    else:
        return None
    while isinstance(source.owner, TosaOp) and source.owner.op is Op.RESHAPE:
        source = source.owner.inputs[0]
    if source is op.inputs[0] and op.op is Op.RESHAPE:
        return source if t.shape_of(source) == t.shape_of(op.output) else None
    return t.reshape(source, t.shape_of(op.output))
