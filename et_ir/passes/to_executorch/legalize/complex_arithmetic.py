"""Complex arithmetic on real and imaginary parts.

What Fourier and rotary models need: sums, products, quotients, conjugates, magnitudes, `exp` of a phase, products of
matrices.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.passes.to_executorch.legalize.complex_parts import Pair, Parts, on_parts


def product(b: Parts, x: Pair, y: Pair) -> Pair:
    """x y."""
    return Pair(
        b.sub(b.mul(x.real, y.real), b.mul(x.imag, y.imag)),
        b.add(b.mul(x.real, y.imag), b.mul(x.imag, y.real)),
    )


def quotient(b: Parts, x: Pair, y: Pair) -> Pair:
    """x / y, by the larger part of y first, so that no square overflows; as torch's kernels compute it."""
    scale = b(edge.MaximumOp, b(edge.AbsOp, y.real), b(edge.AbsOp, y.imag))
    x, y = (Pair(b.div(v.real, scale), b.div(v.imag, scale)) for v in (x, y))
    square = b.add(b.mul(y.real, y.real), b.mul(y.imag, y.imag))
    above = product(b, x, Pair(y.real, b.neg(y.imag)))
    return Pair(b.div(above.real, square), b.div(above.imag, square))


@on_parts(edge.AddTensorOp, edge.SubTensorOp)
def add(b: Parts, op: edge.AddTensorOp) -> Pair:
    return b.each(op)[0]


@on_parts(edge.AddScalarOp, edge.SubScalarOp)
def add_number(b: Parts, op: edge.AddScalarOp) -> Pair:
    return b.each(op, {"other": 0})[0]


@on_parts(edge.RsubScalarOp)
def rsub_number(b: Parts, op: edge.RsubScalarOp) -> Pair:
    return b.each(op, {"other": 0})[0]


@on_parts(edge.MulTensorOp)
def mul(b: Parts, op: edge.MulTensorOp) -> Pair:
    return product(b, *map(b.of, op.operands))


@on_parts(edge.DivTensorOp)
def div(b: Parts, op: edge.DivTensorOp) -> Pair:
    return quotient(b, *map(b.of, op.operands))


@on_parts(edge.ReciprocalOp)
def reciprocal(b: Parts, op: edge.ReciprocalOp) -> Pair:
    x = b.of(op.operands[0])
    return quotient(b, Pair(b.full_like(x.real, 1), b.full_like(x.real, 0)), x)


@on_parts(edge.UnderscoreConjPhysicalOp, edge.ConjPhysicalOp)
def conjugate(b: Parts, op: EdgeOp) -> Pair:
    x = b.of(op.operands[0])
    return Pair(x.real, b.neg(x.imag))


@on_parts(edge.AbsOp)
def magnitude(b: Parts, op: edge.AbsOp) -> SSAValue:
    """|x|, without squares of what is large."""
    x = b.of(op.operands[0])
    sizes = b(edge.AbsOp, x.real), b(edge.AbsOp, x.imag)
    large, small = b(edge.MaximumOp, *sizes), b(edge.MinimumOp, *sizes)
    ratio = b.div(small, large)
    found = b.mul(large, b(edge.SqrtOp, b(edge.AddScalarOp, b.mul(ratio, ratio), 1)))
    whole = b(edge.LogicalOrOp, b(edge.EqScalarOp, large, 0), b(edge.EqScalarOp, large, math.inf))
    return b.where(whole, large, found)


@on_parts(edge.ExpOp)
def exponential(b: Parts, op: edge.ExpOp) -> Pair:
    """exp(x); zero where that of the real part is, whatever the imaginary one."""
    x = b.of(op.operands[0])
    size = b(edge.ExpOp, x.real)
    none = b(edge.EqScalarOp, size, 0)
    return Pair(*(b.where(none, size, b.mul(size, b(cls, x.imag))) for cls in (edge.CosOp, edge.SinOp)))


@on_parts(edge.MmOp, edge.BmmOp)
def matrix_product(b: Parts, op: EdgeOp) -> Pair:
    x, y = map(b.of, op.operands)
    cls = type(op)
    return Pair(
        b.sub(b(cls, x.real, y.real), b(cls, x.imag, y.imag)),
        b.add(b(cls, x.real, y.imag), b(cls, x.imag, y.real)),
    )
