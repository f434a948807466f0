"""Rules of products of matrices."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, require_float
from et_backends.tosa.format.graph import Op
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES", "matmul"]


def matmul(t: Legalizer, a: SSAValue, b: SSAValue, zero_points: tuple[int, int] = (0, 0)) -> SSAValue:
    """A product of two matrices, or of two batches of matrices, of the same rank."""
    rank = len(t.shape_of(a))
    a_zp, b_zp = (t.zero_point(one, zero) for one, zero in zip((a, b), zero_points, strict=True))
    made = t.emit(Op.MATMUL, t.ranked(a, 3), t.ranked(b, 3), a_zp, b_zp)
    return made if rank == 3 else t.reshape(made, t.shape_of(made)[1:])


def _product(t: Legalizer, op: SchemaOp) -> SSAValue:
    a: SSAValue = op.arg("self")
    require_float(t, a)
    return matmul(t, a, op.arg("mat2"))


def _sum_of_product(first: str, second: str) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        added: SSAValue = op.arg("self")
        a: SSAValue = op.arg(first)
        require_float(t, a)
        made = matmul(t, a, op.arg(second))
        if op.arg("alpha") != 1:
            made = t.mul(made, op.arg("alpha"))
        if op.arg("beta") == 0:
            return made
        return t.add(made, added if op.arg("beta") == 1 else t.mul(added, op.arg("beta")))

    return lower


def _linear(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("input")
    weight: SSAValue = op.arg("weight")
    require_float(t, x)
    *batch, depth = t.shape_of(x)
    rows = 1
    for size in batch:
        rows *= size
    made = matmul(t, t.reshape(x, (rows, depth)), t.transpose(weight, (1, 0)))
    if op.arg("bias") is not None:
        made = t.add(made, op.arg("bias"))
    return t.reshape(made, t.shape_of(op.results[0]))


RULES: Final[dict[str, Rule]] = {
    "addmm": _sum_of_product("mat1", "mat2"),
    "baddbmm": _sum_of_product("batch1", "batch2"),
    "bmm": _product,
    "linear": _linear,
    "mm": _product,
}
