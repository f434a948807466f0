"""Arithmetic, functions and products of complex tensors on their parts.

Formulas: W. Kahan, "Branch cuts for complex elementary functions", 1987, where a straight one would overflow.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.fit_kernels.complex_parts import Pair, Parts, on_parts
from et_ops.dtypes import real_of


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


def magnitude(b: Parts, x: Pair) -> SSAValue:
    """|x|, without squares of what is large."""
    sizes = b(edge.AbsOp, x.real), b(edge.AbsOp, x.imag)
    large, small = b(edge.MaximumOp, *sizes), b(edge.MinimumOp, *sizes)
    ratio = b.div(small, large)
    found = b.mul(large, b(edge.SqrtOp, b(edge.AddScalarOp, b.mul(ratio, ratio), 1)))
    whole = b(edge.LogicalOrOp, b(edge.EqScalarOp, large, 0), b(edge.EqScalarOp, large, math.inf))
    return b.where(whole, large, found)


def exponential(b: Parts, x: Pair) -> Pair:
    """exp(x); zero where that of the real part is, whatever the imaginary one."""
    size = b(edge.ExpOp, x.real)
    none = b(edge.EqScalarOp, size, 0)
    return Pair(*(b.where(none, size, b.mul(size, b(cls, x.imag))) for cls in (edge.CosOp, edge.SinOp)))


def logarithm(b: Parts, x: Pair) -> Pair:
    """log(x)."""
    return Pair(b(edge.LogOp, magnitude(b, x)), b(edge.Atan2Op, x.imag, x.real))


def root(b: Parts, x: Pair) -> Pair:
    """The square root to the right of the imaginary axis."""
    larger = b(edge.AddTensorOp, magnitude(b, x), b(edge.AbsOp, x.real))
    larger = b(edge.SqrtOp, b.mul(larger, 0.5))
    smaller = b.mul(b.div(b(edge.AbsOp, x.imag), larger), 0.5)
    smaller = b.where(b(edge.EqScalarOp, larger, 0), larger, smaller)
    right = b(edge.GeScalarOp, x.real, 0)
    sign = b.where(b(edge.EqScalarOp, x.imag, 0), b(edge.ReciprocalOp, x.imag), x.imag)  # zeros have one too
    up = b(edge.GeScalarOp, sign, 0)
    imag = b.where(right, smaller, larger)
    return Pair(b.where(right, larger, smaller), b.where(up, imag, b.neg(imag)))


def tangent(b: Parts, x: Pair) -> Pair:
    """tanh(x); beyond 20 it is one in double precision too, and would overflow."""
    double = b.mul(b(edge.ClampOp, x.real, -20, 20), 2)
    angle = b.mul(x.imag, 2)
    below = b.add(b(edge.CoshOp, double), b(edge.CosOp, angle))
    return Pair(b.div(b(edge.SinhOp, double), below), b.div(b(edge.SinOp, angle), below))


def _one(b: Parts, x: Pair) -> Pair:
    return Pair(b.full_like(x.real, 1), b.full_like(x.real, 0))


# -- sums and products of elements


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
    return quotient(b, _one(b, x), x)


@on_parts(edge.UnderscoreConjPhysicalOp, edge.ConjPhysicalOp)
def conjugate(b: Parts, op: EdgeOp) -> Pair:
    x = b.of(op.operands[0])
    return Pair(x.real, b.neg(x.imag))


# -- functions


@on_parts(edge.AbsOp)
def absolute(b: Parts, op: edge.AbsOp) -> SSAValue:
    return magnitude(b, b.of(op.operands[0]))


@on_parts(edge.ExpOp)
def exp(b: Parts, op: edge.ExpOp) -> Pair:
    return exponential(b, b.of(op.operands[0]))


@on_parts(edge.LogOp)
def log(b: Parts, op: edge.LogOp) -> Pair:
    return logarithm(b, b.of(op.operands[0]))


@on_parts(edge.Log2Op, edge.Log10Op)
def log_to_base(b: Parts, op: EdgeOp) -> Pair:
    found = logarithm(b, b.of(op.operands[0]))
    scale = 1 / math.log(2 if isinstance(op, edge.Log2Op) else 10)
    return Pair(b.mul(found.real, scale), b.mul(found.imag, scale))


@on_parts(edge.SqrtOp)
def sqrt(b: Parts, op: edge.SqrtOp) -> Pair:
    return root(b, b.of(op.operands[0]))


@on_parts(edge.RsqrtOp)
def rsqrt(b: Parts, op: edge.RsqrtOp) -> Pair:
    found = root(b, b.of(op.operands[0]))
    return quotient(b, _one(b, found), found)


@on_parts(edge.SigmoidOp)
def sigmoid(b: Parts, op: edge.SigmoidOp) -> Pair:
    """(1 + tanh(x / 2)) / 2."""
    x = b.of(op.operands[0])
    found = tangent(b, Pair(b.mul(x.real, 0.5), b.mul(x.imag, 0.5)))
    return Pair(b.mul(b(edge.AddScalarOp, found.real, 1), 0.5), b.mul(found.imag, 0.5))


@on_parts(edge.TanhOp)
def tanh(b: Parts, op: edge.TanhOp) -> Pair:
    return tangent(b, b.of(op.operands[0]))


@on_parts(edge.TanOp)
def tan(b: Parts, op: edge.TanOp) -> Pair:
    """-i tanh(i x)."""
    x = b.of(op.operands[0])
    found = tangent(b, Pair(b.neg(x.imag), x.real))
    return Pair(found.imag, b.neg(found.real))


@on_parts(edge.SinOp)
def sin(b: Parts, op: edge.SinOp) -> Pair:
    real, imag = b.of(op.operands[0])
    return Pair(
        b.mul(b(edge.SinOp, real), b(edge.CoshOp, imag)), b.mul(b(edge.CosOp, real), b(edge.SinhOp, imag))
    )


@on_parts(edge.CosOp)
def cos(b: Parts, op: edge.CosOp) -> Pair:
    real, imag = b.of(op.operands[0])
    lower = b.mul(b(edge.SinOp, real), b(edge.SinhOp, imag))
    return Pair(b.mul(b(edge.CosOp, real), b(edge.CoshOp, imag)), b.neg(lower))


@on_parts(edge.SinhOp)
def sinh(b: Parts, op: edge.SinhOp) -> Pair:
    real, imag = b.of(op.operands[0])
    return Pair(
        b.mul(b(edge.SinhOp, real), b(edge.CosOp, imag)), b.mul(b(edge.CoshOp, real), b(edge.SinOp, imag))
    )


@on_parts(edge.CoshOp)
def cosh(b: Parts, op: edge.CoshOp) -> Pair:
    real, imag = b.of(op.operands[0])
    return Pair(
        b.mul(b(edge.CoshOp, real), b(edge.CosOp, imag)), b.mul(b(edge.SinhOp, real), b(edge.SinOp, imag))
    )


@on_parts(edge.Expm1Op)
def expm1(b: Parts, op: edge.Expm1Op) -> Pair:
    """Of (a, b): expm1(a) cos(b) - 2 sin(b / 2)^2, and exp(a) sin(b)."""
    real, imag = b.of(op.operands[0])
    half = b(edge.SinOp, b.mul(imag, 0.5))
    grown = b.mul(b(edge.Expm1Op, real), b(edge.CosOp, imag))
    return Pair(b.sub(grown, b.mul(b.mul(half, half), 2)), b.mul(b(edge.ExpOp, real), b(edge.SinOp, imag)))


@on_parts(edge.Log1pOp)
def log1p(b: Parts, op: edge.Log1pOp) -> Pair:
    """Near zero half of log1p(a^2 + 2 a + b^2), where 1 + a would lose what is small."""
    real, imag = b.of(op.operands[0])
    above = b(edge.AddScalarOp, real, 1)
    found = logarithm(b, Pair(above, imag))
    square = b.add(b.mul(real, b(edge.AddScalarOp, real, 2)), b.mul(imag, imag))
    close = b.mul(b(edge.Log1pOp, square), 0.5)
    small = b(edge.MaximumOp, b(edge.AbsOp, real), b(edge.AbsOp, imag))
    return Pair(b.where(b(edge.LtScalarOp, small, 0.5), close, found.real), found.imag)


def power(b: Parts, x: Pair, y: Pair) -> Pair:
    """x to the y."""
    return exponential(b, product(b, y, logarithm(b, x)))


@on_parts(edge.PowTensorTensorOp)
def pow_of(b: Parts, op: edge.PowTensorTensorOp) -> Pair:
    return power(b, *map(b.of, op.operands))


@on_parts(edge.PowScalarOp)
def pow_of_number(b: Parts, op: edge.PowScalarOp) -> Pair | None:
    base = op.arg("self")
    if not isinstance(base, int | float):
        return None
    exponent = b.of(op.operands[0])
    return power(b, Pair(b.full_like(exponent.real, base), b.full_like(exponent.real, 0)), exponent)


# -- products of matrices


@on_parts(edge.MmOp, edge.BmmOp)
def matrix_product(b: Parts, op: EdgeOp) -> Pair:
    x, y = map(b.of, op.operands)
    return _matrix_product(b, type(op), x, y)


def _matrix_product(b: Parts, cls: type[EdgeOp], x: Pair, y: Pair) -> Pair:
    return Pair(
        b.sub(b(cls, x.real, y.real), b(cls, x.imag, y.imag)),
        b.add(b(cls, x.real, y.imag), b(cls, x.imag, y.real)),
    )


@on_parts(edge.AddmmOp)
def addmm(b: Parts, op: edge.AddmmOp) -> Pair | None:
    beta, alpha = op.arg("beta"), op.arg("alpha")
    if not isinstance(beta, int | float) or not isinstance(alpha, int | float):
        return None
    x, y, z = map(b.of, op.operands)
    found = _matrix_product(b, edge.MmOp, y, z)

    def sum_of(first: SSAValue, second: SSAValue) -> SSAValue:
        second = second if alpha == 1 else b.mul(second, alpha)
        return second if beta == 0 else b.add(first if beta == 1 else b.mul(first, beta), second)

    return Pair(sum_of(x.real, found.real), sum_of(x.imag, found.imag))


@on_parts(edge.LinearOp)
def linear(b: Parts, op: edge.LinearOp) -> Pair:
    x, y, *bias = map(b.of, op.operands)
    found = _matrix_product(b, edge.LinearOp, x, y)
    for one in bias:
        found = Pair(b.add(found.real, one.real), b.add(found.imag, one.imag))
    return found


# -- reductions


@on_parts(edge.VarCorrectionOp, edge.VarDimOp)
def variance(b: Parts, op: EdgeOp) -> SSAValue:
    return b.add(*b.each(op)[0])


@on_parts(edge.ProdOp, edge.ProdDimIntOp)
def prod(b: Parts, op: EdgeOp) -> Pair:
    """The product along one dimension, in halves: as many steps as its size has bits."""
    result = tensor_type(op.results[0])
    element = attr_of(real_of(dtype_of(result.element_type)))
    x = Pair(*(b.to(part, element) for part in b.of(op.operands[0])))
    shape = list(tensor_type(x.real).get_shape())
    dim = op.arg("dim") if isinstance(op, edge.ProdDimIntOp) else None
    if not isinstance(dim, int):
        shape, dim = [math.prod(shape)], 0
        x = Pair(*(b.view(part, shape) for part in x))
    elif not shape:
        shape, dim = [1], 0
        x = Pair(*(b.view(part, shape) for part in x))
    size = shape[dim]
    if not size:
        return Pair(b.full(result.get_shape(), 1, element), b.full(result.get_shape(), 0, element))

    def piece(start: int, end: int, whole: Pair) -> Pair:
        return Pair(*(b(edge.SliceCopyTensorOp, part, dim, start, end) for part in whole))

    while size > 1:
        half = size // 2
        found = product(b, piece(0, half, x), piece(half, 2 * half, x))
        if size % 2:
            rest = piece(2 * half, size, x)
            found = Pair(*(b(edge.CatOp, list(both), dim) for both in zip(found, rest, strict=True)))
        x, size = found, size - half
    return Pair(*(b.view(part, result.get_shape()) for part in x))
