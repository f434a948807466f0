"""Expansion of elementary functions into arithmetic on vectors.

There is no library of them where a kernel runs. Each is computed to within two units in the last place of f32: an
argument reduction, a polynomial, and a reconstruction. Where f32 is too narrow for the reduction (powers, and arguments
of sines of any size) it is done in f64. The polynomials are minimax fits of the relative error, by weighted least
squares with weights adapted until the error is level (Lawson's algorithm), or Taylor's where the range is short.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, inf, log, nan, pi
from typing import Final, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, VectorType, f32, f64, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_backends.codegen.dialect import CompareOp, SelectOp
from et_backends.codegen.dialect.types import float_splat, vector_type
from et_ir.rewriting import rewrite

__all__ = ["EXPANSIONS", "ExpandMathPass"]


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Replace elementary functions by arithmetic.

    Before:

    ```mlir
    %y = math.exp %x : vector<64xf32>
    ```

    After, in short:

    ```mlir
    %n = round(%x * log2(e))
    %r = %x - %n * log(2)
    %y = polynomial(%r) * 2**%n
    ```
    """

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_Expand()])


class _Expand(RewritePattern):
    """The arithmetic of a function of vectors in place of its op."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        expansion = EXPANSIONS.get(type(op))
        if expansion is not None and isinstance(op.results[0].type, VectorType):
            result = expansion(_Vectors(rewriter, op), *op.operands)
            rewriter.replace(op, [], [result])


_LOG2E: Final = 1 / log(2)
_HIGH: Final = 0.693359375
"""The logarithm of 2 in few bits, so that its product with a small whole number is exact."""
_LOW: Final = log(2) - _HIGH
_MAGIC: Final = 12582912.0
"""1.5 * 2**23: a float that is this much more than a small number is the number rounded, in its low bits."""
_MAGIC_BITS: Final = 0x4B400000
_ROOT_BITS: Final = 0x3F3504F3
"""Of the square root of 1/2."""
_SMALLEST: Final = 2.0**-126
"""The smallest normal number."""
_TAYLOR: Final = tuple(1 / factorial(power) for power in range(8))
"""Of the exponential: on [-log(2)/2, log(2)/2] the rest is below a tenth of a unit in the last place."""
_SINE: Final = tuple((-1) ** k / factorial(2 * k + 1) for k in range(1, 6))
_COSINE: Final = tuple((-1) ** k / factorial(2 * k) for k in range(2, 7))
"""Taylor's, of (sin(x) - x) / x**3 and (cos(x) - 1 + x**2/2) / x**4 in x**2, for |x| up to pi/4."""
_LOG: Final = (
    0.333333126,
    -0.250000096,
    0.200021187,
    -0.166679957,
    0.142195509,
    -0.124055914,
    0.118881746,
    -0.116756413,
    0.0674660133,
)
"""Of (log(1 + f) - f + f**2/2) / f**3, for 1 + f from sqrt(1/2) to sqrt(2); error 3e-9."""
_ATAN: Final = (
    -0.333332991,
    0.199985482,
    -0.142642408,
    0.109521811,
    -0.0840343665,
    0.0579573595,
    -0.031177613,
    0.010914481,
    -0.00179359389,
)
"""Of (atan(x) - x) / x**3 in x**2, for x up to 1; error 2e-8."""
_ASIN: Final = (0.1666666, 0.0750050418, 0.0445169552, 0.0318077186, 0.0144386043, 0.0375164509)
"""Of (asin(x) - x) / x**3 in x**2, for x up to 1/2; error 1e-9."""
_ERF: Final = (
    0.128379167,
    -0.376126361,
    0.11283733,
    -0.0268615847,
    0.0052067474,
    -0.000821110355,
    8.67539001e-05,
)
"""Of erf(x) / x - 1 in x**2, for x up to 0.875; error 1e-8."""
_ERF_END: Final = 0.875
_LOG_ERFC: Final = (
    0.000133566625,
    1.12793616,
    0.636737159,
    0.104327574,
    -0.0224202545,
    0.00309230229,
    -0.000200997361,
)
"""Of -log(1 - erf(x)), for x from 0.875 to 4; error of the erf that it gives 9e-9."""

_TANH: Final = (-0.333332598, 0.133308303, -0.0536880195, 0.0204694101, -0.00551515468)
"""Of (tanh(x) - x) / x**3 in x**2, for x up to 0.65; error 8e-9."""
_TANH_END: Final = 0.65


def _two_over_pi(bits: int) -> int:
    """floor(2/pi * 2**bits), with pi by Machin's formula."""
    guard = bits + 32

    def arctan_of_inverse(n: int) -> int:
        total = term = (1 << guard) // n
        k = 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    whole = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return (2 << (guard + bits)) // whole


_HALF_PI: Final = (1.57079637050628662109375, -4.371139000186241e-08, -1.7151245100058819e-15)
"""pi/2 as a sum of numbers of 24 bits. A small multiple of the first is subtracted exactly."""
_REST_OF_HALF_PI: Final = 6.123233995736766e-17
"""Rounding error of pi/2 as f64."""
_FAR: Final = 2.0**15
"""Up to here a sine is reduced by `_HALF_PI`."""

_CHUNKS: Final = 8
_TWO_OVER_PI: Final = tuple(
    ((_two_over_pi(24 * _CHUNKS) >> 24 * (_CHUNKS - 1 - number)) & 0xFFFFFF) * 2.0 ** (-24 * (number + 1))
    for number in range(_CHUNKS)
)
"""2/pi as a sum of numbers of 24 bits, whose products with an f32 are exact in f64."""

_Number: TypeAlias = SSAValue | float


class _Vectors:
    """Appends arithmetic on vectors of one shape before an op. Where a number is given, it is a constant."""

    def __init__(self, rewriter: PatternRewriter, op: Operation):
        self._rewriter = rewriter
        self._point: InsertPoint | None = None
        shape = vector_type(op.results[0]).get_shape()
        self.type = VectorType(f32, shape)
        self.wide = VectorType(f64, shape)
        self.ints = VectorType(i32, shape)

    def value(self, op: Operation) -> SSAValue:
        if self._point is None:
            self._rewriter.insert(op)
        else:
            self._rewriter.insert(op, self._point)
        return op.results[0]

    def branch(
        self, mask: SSAValue, some: Callable[[], Sequence[SSAValue]], none: Callable[[], Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        """The results of `some` if a bit of a mask is set, and those of `none` otherwise."""
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
        any_ = self.value(
            vector.ReductionOp.build(operands=[[mask], []], properties={"kind": kind}, result_types=[i1])
        )
        regions: list[Region] = []
        types: list[Attribute] = []
        for make in (some, none):
            block = Block()
            before, self._point = self._point, InsertPoint.at_end(block)
            made = make()
            self._rewriter.insert(scf.YieldOp(*made), self._point)
            self._point = before
            regions.append(Region(block))
            types = [value.type for value in made]
        op = scf.IfOp(any_, types, regions[0], regions[1])
        self.value(op)
        return op.results

    def number(self, number: float, like: SSAValue | None = None) -> SSAValue:
        type = self.type if like is None else vector_type(like)
        return self.value(arith.ConstantOp(float_splat(type, number), type))

    def integer(self, number: int) -> SSAValue:
        return self.value(
            arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(self.ints, [number]), self.ints)
        )

    def _as(self, x: _Number, like: SSAValue) -> SSAValue:
        return x if isinstance(x, SSAValue) else self.number(x, like)

    def fma(self, x: SSAValue, y: _Number, z: _Number) -> SSAValue:
        return self.value(vector.FMAOp(x, self._as(y, x), self._as(z, x)))

    def add(self, x: SSAValue, y: _Number) -> SSAValue:
        return self.value(arith.AddfOp(x, self._as(y, x)))

    def sub(self, x: SSAValue, y: _Number) -> SSAValue:
        return self.value(arith.SubfOp(x, self._as(y, x)))

    def mul(self, x: SSAValue, y: _Number) -> SSAValue:
        return self.value(arith.MulfOp(x, self._as(y, x)))

    def div(self, x: SSAValue, y: _Number) -> SSAValue:
        return self.value(arith.DivfOp(x, self._as(y, x)))

    def neg(self, x: SSAValue) -> SSAValue:
        return self.value(arith.NegfOp(x))

    def abs(self, x: SSAValue) -> SSAValue:
        return self.value(math.AbsFOp(x))

    def round(self, x: SSAValue) -> SSAValue:
        return self.value(math.RoundEvenOp(x))

    def signed(self, size: SSAValue, sign: SSAValue) -> SSAValue:
        """`size` with the sign of another."""
        return self.value(math.CopySignOp(size, sign))

    def bits(self, x: SSAValue) -> SSAValue:
        return self.value(vector.BitcastOp.build(operands=[x], result_types=[self.ints]))

    def floats(self, x: SSAValue) -> SSAValue:
        return self.value(vector.BitcastOp.build(operands=[x], result_types=[self.type]))

    def widen(self, x: SSAValue) -> SSAValue:
        return self.value(arith.ExtFOp(x, self.wide))

    def narrow(self, x: SSAValue) -> SSAValue:
        return self.value(arith.TruncFOp.build(operands=[x], result_types=[self.type]))

    def choose(self, x: SSAValue, predicate: str, y: _Number, yes: _Number, no: _Number) -> SSAValue:
        """`yes` where a comparison holds, `no` elsewhere."""
        mask = self.value(CompareOp(predicate, x, self._as(y, x)))
        return self.value(SelectOp(mask, self._as(yes, x), self._as(no, x)))

    def at_most(self, x: SSAValue, high: float) -> SSAValue:
        """The lesser; a NaN passes."""
        return self.choose(x, "ogt", high, high, x)

    def at_least(self, x: SSAValue, low: float) -> SSAValue:
        return self.choose(x, "olt", low, low, x)

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """By Horner's rule; the constant term comes first."""
        total = self.number(coefficients[-1], x)
        for coefficient in coefficients[-2::-1]:
            total = self.fma(total, x, coefficient)
        return total

    def power_of_two(self, n: SSAValue) -> SSAValue:
        """2 to the power of whole numbers from -126 to 127."""
        biased = self.value(arith.AddiOp(n, self.integer(127)))
        return self.floats(self.value(arith.ShLIOp(biased, self.integer(23))))

    def scaled(self, x: SSAValue, n: SSAValue) -> SSAValue:
        """x times 2 to the power of n, in two steps, so that small results are rounded once."""
        half = self.value(arith.ShRSIOp(n, self.integer(1)))
        rest = self.value(arith.SubiOp(n, half))
        return self.mul(self.mul(x, self.power_of_two(half)), self.power_of_two(rest))

    def whole(self, shifted: SSAValue) -> SSAValue:
        """The integers of what `_MAGIC` has been added to."""
        return self.value(arith.SubiOp(self.bits(shifted), self.integer(_MAGIC_BITS)))

    def reduced(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """n and r with x = n log(2) + r, and r at most half of log(2)."""
        shifted = self.fma(x, _LOG2E, _MAGIC)
        n = self.sub(shifted, _MAGIC)
        return self.whole(shifted), self.fma(n, -_LOW, self.fma(n, -_HIGH, x))

    def exp(self, x: SSAValue, doublings: int = 0) -> SSAValue:
        """exp(x) = 2**n exp(r), times a power of two."""
        # Beyond them the result is 0 or infinity. A NaN passes, as it is not beyond anything.
        n, r = self.reduced(self.at_most(self.at_least(x, -104.0), 90.0))
        if doublings:
            n = self.value(arith.AddiOp(n, self.integer(doublings)))
        return self.scaled(self.polynomial(r, _TAYLOR), n)

    def expm1(self, x: SSAValue) -> SSAValue:
        """exp(x) - 1 = 2**n (exp(r) - 1) + (2**n - 1), without cancellation; halved within, as 2**128 is infinite."""
        return self.signed(self.expm1_inside(self.at_most(self.at_least(x, -20.0), 89.0)), x)

    def expm1_inside(self, x: SSAValue) -> SSAValue:
        """As `expm1`, for x from -20 to 89."""
        n, r = self.reduced(x)
        half = self.power_of_two(self.value(arith.SubiOp(n, self.integer(1))))
        series = self.fma(self.polynomial(r, _TAYLOR[2:]), self.mul(r, r), r)
        result = self.fma(series, half, self.sub(half, 0.5))
        return self.add(result, result)

    def log_parts(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """e and f with x = 2**e (1 + f), and 1 + f from sqrt(1/2) to sqrt(2), for x above 0."""
        normal = self.choose(x, "olt", _SMALLEST, self.mul(x, 2.0**23), x)
        bits = self.bits(normal)
        shifted = self.value(arith.SubiOp(bits, self.integer(_ROOT_BITS)))
        e = self.value(arith.ShRSIOp(shifted, self.integer(23)))
        m = self.floats(self.value(arith.SubiOp(bits, self.value(arith.ShLIOp(e, self.integer(23))))))
        exponent = self.value(arith.SIToFPOp.build(operands=[e], result_types=[self.type]))
        return self.choose(x, "olt", _SMALLEST, self.sub(exponent, 23.0), exponent), self.sub(m, 1.0)

    def log_tail(self, f: SSAValue) -> SSAValue:
        """log(1 + f) - f."""
        square = self.mul(f, f)
        return self.fma(square, -0.5, self.mul(self.mul(self.polynomial(f, _LOG), square), f))

    def log_ends(self, x: SSAValue, result: SSAValue) -> SSAValue:
        """A logarithm where it is finite; minus infinity of 0, and NaN below it."""
        beyond = self.choose(x, "oeq", 0.0, -inf, nan)
        return self.choose(x, "ogt", 0.0, self.choose(x, "olt", inf, result, x), beyond)

    def log(self, x: SSAValue) -> SSAValue:
        """log(x) = e log(2) + log(1 + f)."""
        e, f = self.log_parts(x)
        tail = self.fma(e, _LOW, self.log_tail(f))
        return self.log_ends(x, self.fma(e, _HIGH, self.add(f, tail)))

    def wide_log2(self, x: SSAValue) -> SSAValue:
        """The logarithm to base 2 in f64 of an f32 above 0: with s = f / (2 + f), log(1 + f) = 2 atanh(s)."""
        e, f = map(self.widen, self.log_parts(x))
        s = self.div(f, self.add(f, 2.0))
        series = self.polynomial(self.mul(s, s), [2 * _LOG2E / (2 * k + 1) for k in range(8)])
        return self.fma(s, series, e)

    def wide_exp2(self, x: SSAValue) -> SSAValue:
        """2 to the power of an f64, as f32."""
        limited = self.at_most(self.at_least(x, -152.0), 129.0)
        n = self.round(limited)
        r = self.narrow(self.mul(self.sub(limited, n), log(2)))
        return self.scaled(self.polynomial(r, _TAYLOR), self.whole(self.add(self.narrow(n), _MAGIC)))

    def quadrant(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """n and r in f64 with x = (n + 4 k) pi/2 + r for a whole k: |n| a few, and |r| up to pi/4; of any x."""
        x = self.widen(x)
        n = r = self.number(0.0, x)
        for chunk in _TWO_OVER_PI:
            # Exact: multiples of four leave nothing.
            term = self.mul(x, chunk)
            r = self.add(r, self.fma(self.round(self.mul(term, 0.25)), -4.0, term))
            turns = self.round(r)
            n, r = self.add(n, turns), self.sub(r, turns)
        return n, self.mul(r, pi / 2)

    def narrow_quadrant(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """As `quadrant`, in f32: by Cody and Waite's reduction if all of x is near enough."""

        def far() -> Sequence[SSAValue]:
            n, r = self.quadrant(x)
            return self.narrow(n), self.narrow(r)

        def near() -> Sequence[SSAValue]:
            n = self.sub(self.fma(x, 2 / pi, _MAGIC), _MAGIC)
            r = x
            for part in _HALF_PI:
                r = self.fma(n, -part, r)
            return n, r

        n, r = self.branch(self.is_far(x), far, near)
        return n, r

    def wide_quadrant(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """As `quadrant`, by Cody and Waite's reduction if all of x is near enough."""

        def near() -> Sequence[SSAValue]:
            wide = self.widen(x)
            n = self.round(self.mul(wide, 2 / pi))
            return n, self.fma(n, -_REST_OF_HALF_PI, self.fma(n, -pi / 2, wide))

        n, r = self.branch(self.is_far(x), lambda: self.quadrant(x), near)
        return n, r

    def is_far(self, x: SSAValue) -> SSAValue:
        """Whether a reduction takes all bits of pi that there are."""
        return self.value(CompareOp("ogt", self.abs(x), self.number(_FAR, x)))

    def sine_and_cosine(self, r: SSAValue) -> tuple[SSAValue, SSAValue]:
        """For |r| up to pi/4."""
        square = self.mul(r, r)
        sine = self.fma(self.mul(self.polynomial(square, _SINE), square), r, r)
        rest = self.mul(self.polynomial(square, _COSINE), self.mul(square, square))
        return sine, self.add(self.fma(square, -0.5, rest), 1.0)

    def circular(self, x: SSAValue, turns: float) -> SSAValue:
        """sin(x + turns pi/2)."""
        n, r = self.narrow_quadrant(x)
        n = self.add(n, turns)
        sine, cosine = self.sine_and_cosine(r)
        odd = self.fma(self.round(self.mul(n, 0.5)), -2.0, n)
        size = self.choose(odd, "une", 0.0, cosine, sine)
        shift = self.value(arith.ShLIOp(self.bits(self.add(n, _MAGIC)), self.integer(30)))
        sign = self.value(arith.AndIOp(shift, self.integer(-(2**31))))
        return self.floats(self.value(arith.XOrIOp(self.bits(size), sign)))

    def atan_of_ratio(self, x: SSAValue) -> SSAValue:
        """For x from 0 to 1."""
        square = self.mul(x, x)
        return self.fma(self.mul(self.polynomial(square, _ATAN), square), x, x)

    def from_angle(self, angle: float, x: SSAValue) -> SSAValue:
        """The angle less x."""
        high = numbers.ldexp(round(numbers.ldexp(angle, 22)), -22)
        return self.add(self.sub(self.number(high), x), angle - high)


# -- functions


def _exp(v: _Vectors, x: SSAValue) -> SSAValue:
    return v.exp(x)


def _tanh(v: _Vectors, x: SSAValue) -> SSAValue:
    """A polynomial near 0; beyond, e / (e + 2) with e = exp(2|x|) - 1, and the sign of x."""
    size = v.abs(x)
    square = v.mul(x, x)
    near = v.fma(v.mul(v.polynomial(square, _TANH), square), x, x)
    e = v.expm1_inside(v.at_most(v.add(size, size), 20.0))
    return v.signed(v.choose(size, "olt", _TANH_END, near, v.div(e, v.add(e, 2.0))), x)


def _log(v: _Vectors, x: SSAValue) -> SSAValue:
    return v.log(x)


def _log2(v: _Vectors, x: SSAValue) -> SSAValue:
    return v.log_ends(x, v.narrow(v.wide_log2(x)))


def _log10(v: _Vectors, x: SSAValue) -> SSAValue:
    return v.log_ends(x, v.narrow(v.mul(v.wide_log2(x), numbers.log10(2))))


def _log1p(v: _Vectors, x: SSAValue) -> SSAValue:
    """log(u) with u = 1 + x, plus what u lacks of 1 + x, divided by u."""
    u = v.add(x, 1.0)
    lacking = v.choose(v.abs(x), "olt", 1.0, v.sub(x, v.sub(u, 1.0)), v.sub(v.number(1.0), v.sub(u, x)))
    e, f = v.log_parts(u)
    tail = v.add(v.fma(e, _LOW, v.log_tail(f)), v.div(lacking, u))
    result = v.log_ends(u, v.fma(e, _HIGH, v.add(f, tail)))
    return v.choose(u, "oeq", 1.0, x, result)


def _erf(v: _Vectors, x: SSAValue) -> SSAValue:
    """A polynomial near 0, 1 - exp(polynomial) beyond."""
    size = v.abs(x)
    square = v.mul(x, x)
    near = v.fma(v.polynomial(square, _ERF), x, x)
    n, r = v.reduced(v.polynomial(v.at_most(size, 4.0), [-one for one in _LOG_ERFC]))
    far = v.sub(v.number(1.0), v.mul(v.polynomial(r, _TAYLOR), v.power_of_two(n)))
    return v.choose(size, "olt", _ERF_END, near, v.signed(far, x))


def _sinh(v: _Vectors, x: SSAValue) -> SSAValue:
    """(e + e / (e + 1)) / 2 with e = exp(|x|) - 1; exp(|x|) / 2 where the rest is too small to matter."""
    size = v.abs(x)
    e = v.expm1_inside(v.at_most(size, 20.0))
    near = v.mul(v.add(e, v.div(e, v.add(e, 1.0))), 0.5)
    return v.signed(v.choose(size, "olt", 20.0, near, v.exp(size, -1)), x)


def _cosh(v: _Vectors, x: SSAValue) -> SSAValue:
    """t + 1 / (4 t) with t = exp(|x|) / 2."""
    half = v.exp(v.abs(x), -1)
    return v.add(half, v.div(v.number(0.25), half))


def _sin(v: _Vectors, x: SSAValue) -> SSAValue:
    # Small ones are their own sine; the sum of a reduction loses the sign of a zero.
    return v.choose(v.abs(x), "olt", 2.0**-13, x, v.circular(x, 0.0))


def _cos(v: _Vectors, x: SSAValue) -> SSAValue:
    return v.circular(x, 1.0)


def _tan(v: _Vectors, x: SSAValue) -> SSAValue:
    """sin(r) / cos(r), or -cos(r) / sin(r)."""
    n, r = v.wide_quadrant(x)
    sine, cosine = v.sine_and_cosine(r)
    odd = v.fma(v.round(v.mul(n, 0.5)), -2.0, n)
    above = v.choose(odd, "une", 0.0, v.neg(cosine), sine)
    below = v.choose(odd, "une", 0.0, sine, cosine)
    return v.choose(v.abs(x), "olt", 2.0**-13, x, v.narrow(v.div(above, below)))


def _atan(v: _Vectors, x: SSAValue) -> SSAValue:
    """pi/2 - atan(1/x) where x is above 1."""
    size = v.abs(x)
    ratio = v.choose(size, "ogt", 1.0, v.div(v.number(1.0), size), size)
    angle = v.atan_of_ratio(ratio)
    return v.signed(v.choose(size, "ogt", 1.0, v.from_angle(pi / 2, angle), angle), x)


def _atan2(v: _Vectors, y: SSAValue, x: SSAValue) -> SSAValue:
    """The angle of a point: by the lesser of its coordinates over the larger."""
    across, up = v.abs(x), v.abs(y)
    larger, lesser = v.choose(up, "ogt", across, up, across), v.choose(up, "ogt", across, across, up)
    ratio = v.choose(larger, "oeq", 0.0, 0.0, v.div(lesser, larger))
    angle = v.atan_of_ratio(v.choose(lesser, "oeq", inf, 1.0, ratio))
    angle = v.choose(up, "ogt", across, v.from_angle(pi / 2, angle), angle)
    angle = v.choose(v.signed(v.number(1.0), x), "olt", 0.0, v.from_angle(pi, angle), angle)
    return v.choose(x, "uno", y, nan, v.signed(angle, y))


def _asin_parts(v: _Vectors, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """|x|, and the arc sine of it or, above 1/2, of sqrt((1 - |x|) / 2), which is half of the angle to pi/2."""
    size = v.abs(x)
    square = v.choose(size, "ogt", 0.5, v.mul(v.sub(v.number(1.0), size), 0.5), v.mul(size, size))
    root = v.choose(size, "ogt", 0.5, v.value(math.SqrtOp(square)), size)
    return size, v.fma(v.mul(v.polynomial(square, _ASIN), square), root, root)


def _asin(v: _Vectors, x: SSAValue) -> SSAValue:
    size, angle = _asin_parts(v, x)
    far = v.from_angle(pi / 2, v.add(angle, angle))
    return v.signed(v.choose(size, "ogt", 0.5, far, angle), x)


def _acos(v: _Vectors, x: SSAValue) -> SSAValue:
    size, angle = _asin_parts(v, x)
    twice = v.add(angle, angle)
    far = v.choose(x, "olt", 0.0, v.from_angle(pi, twice), twice)
    return v.choose(size, "ogt", 0.5, far, v.from_angle(pi / 2, v.signed(angle, x)))


def _pow(v: _Vectors, x: SSAValue, y: SSAValue) -> SSAValue:
    """2**(y log2|x|), with the sign of x for odd y, and NaN for negative x and a y that is not whole."""
    size = v.abs(x)
    # Of 0 and infinity the one is finite, and the other decides.
    logarithm = v.add(v.wide_log2(size), v.widen(v.log_ends(size, v.number(0.0))))
    # The power of one is one, and of infinite exponent too.
    exponent = v.choose(size, "oeq", 1.0, 0.0, y)
    result = v.wide_exp2(v.mul(v.widen(exponent), logarithm))
    whole = v.choose(y, "oeq", v.round(y), 1.0, 0.0)
    half = v.mul(y, 0.5)
    odd = v.choose(half, "oeq", v.round(half), 0.0, whole)
    signed = v.choose(odd, "oeq", 1.0, v.signed(result, x), result)
    # Of a negative number; of minus infinity all powers are there.
    some = v.choose(size, "oeq", inf, 1.0, whole)
    negative = v.choose(some, "oeq", 1.0, signed, nan)
    result = v.choose(x, "olt", 0.0, negative, signed)
    result = v.choose(x, "uno", y, nan, result)
    result = v.choose(x, "oeq", 1.0, 1.0, result)
    return v.choose(y, "oeq", 0.0, 1.0, result)


EXPANSIONS: Final[dict[type[Operation], Callable[..., SSAValue]]] = {
    math.AcosOp: _acos,
    math.AsinOp: _asin,
    math.Atan2Op: _atan2,
    math.AtanOp: _atan,
    math.CosOp: _cos,
    math.CoshOp: _cosh,
    math.ErfOp: _erf,
    math.ExpM1Op: _Vectors.expm1,
    math.ExpOp: _exp,
    math.Log10Op: _log10,
    math.Log1pOp: _log1p,
    math.Log2Op: _log2,
    math.LogOp: _log,
    math.PowFOp: _pow,
    math.SinOp: _sin,
    math.SinhOp: _sinh,
    math.TanOp: _tan,
    math.TanhOp: _tanh,
}
"""Functions that there is arithmetic for."""
