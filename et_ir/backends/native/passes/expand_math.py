"""Expansion of elementary functions into arithmetic on vectors.

There is no library of them where a kernel runs. Each is computed in single precision to within two units in the last
place: an argument reduction, a polynomial, and a reconstruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, log
from typing import Final

from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, VectorType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.native import CompareOp, SelectOp
from et_ir.dialects.native.types import float_splat, vector_type
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["ExpandMathPass"]


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Replace `math.exp` and `math.tanh` of vectors by arithmetic.

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
        rewrite(op, [_Exp(), _Tanh()])


_LOG2E: Final = 1 / log(2)
_HIGH: Final = 0.693359375
"""The logarithm of 2 in few bits, so that its product with a small whole number is exact."""
_LOW: Final = log(2) - _HIGH
_MAGIC: Final = 12582912.0
"""1.5 * 2**23: a float that is this much more than a small number is the number rounded, in its low bits."""
_MAGIC_BITS: Final = 0x4B400000
_TAYLOR: Final = tuple(1 / factorial(power) for power in range(8))
"""Of the exponential: on [-log(2)/2, log(2)/2] the rest is below a tenth of a unit in the last place."""


class _Vectors:
    """Appends arithmetic on vectors of one type before an op."""

    def __init__(self, rewriter: PatternRewriter, op: Operation):
        self._rewriter = rewriter
        type = self.type = vector_type(op.results[0])
        self.ints = VectorType(i32, type.get_shape())

    def value(self, op: Operation) -> SSAValue:
        self._rewriter.insert(op)
        return op.results[0]

    def number(self, number: float) -> SSAValue:
        return self.value(arith.ConstantOp(float_splat(self.type, number), self.type))

    def integer(self, number: int) -> SSAValue:
        return self.value(
            arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(self.ints, [number]), self.ints)
        )

    def fma(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        return self.value(vector.FMAOp(x, y, z))

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.value(arith.AddfOp(x, y))

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.value(arith.SubfOp(x, y))

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.value(arith.MulfOp(x, y))

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.value(arith.DivfOp(x, y))

    def bits(self, x: SSAValue) -> SSAValue:
        return self.value(vector.BitcastOp.build(operands=[x], result_types=[self.ints]))

    def floats(self, x: SSAValue) -> SSAValue:
        return self.value(vector.BitcastOp.build(operands=[x], result_types=[self.type]))

    def below(self, x: SSAValue, y: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` where x < y."""
        return self.value(SelectOp(self.value(CompareOp("olt", x, y)), yes, no))

    def polynomial(self, x: SSAValue, coefficients: tuple[float, ...]) -> SSAValue:
        """By Horner's rule; the constant term comes first."""
        total = self.number(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = self.fma(total, x, self.number(coefficient))
        return total

    def power_of_two(self, n: SSAValue) -> SSAValue:
        """2 to the power of whole numbers from -126 to 127."""
        biased = self.value(arith.AddiOp(n, self.integer(127)))
        return self.floats(self.value(arith.ShLIOp(biased, self.integer(23))))

    def reduced(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """n and r with x = n log(2) + r, and r at most half of log(2)."""
        magic = self.number(_MAGIC)
        shifted = self.fma(x, self.number(_LOG2E), magic)
        n = self.sub(shifted, magic)
        r = self.fma(n, self.number(-_LOW), self.fma(n, self.number(-_HIGH), x))
        return self.value(arith.SubiOp(self.bits(shifted), self.integer(_MAGIC_BITS))), r


class _Exp(RewritePattern):
    """exp(x) = 2**n exp(r); the power of two in two factors, so that small results are rounded once."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.ExpOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.result.type, VectorType):
            return
        v = _Vectors(rewriter, op)
        low, high = v.number(-104.0), v.number(89.0)
        # Beyond them the result is 0 or infinity. A NaN passes, as it is not below anything.
        x = v.below(op.operand, low, low, op.operand)
        x = v.below(high, x, high, x)
        n, r = v.reduced(x)
        half = v.value(arith.ShRSIOp(n, v.integer(1)))
        rest = v.value(arith.SubiOp(n, half))
        result = v.mul(v.mul(v.polynomial(r, _TAYLOR), v.power_of_two(half)), v.power_of_two(rest))
        rewriter.replace(op, [], [result])


class _Tanh(RewritePattern):
    """tanh(x) = e / (e + 2) with e = exp(2|x|) - 1, which is computed without cancellation, and the sign of x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.TanhOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.result.type, VectorType):
            return
        v = _Vectors(rewriter, op)
        doubled = v.value(math.AbsFOp(v.add(op.operand, op.operand)))
        high = v.number(20.0)
        doubled = v.below(high, doubled, high, doubled)
        n, r = v.reduced(doubled)
        power = v.power_of_two(n)
        one = v.number(1.0)
        series = v.mul(v.polynomial(r, _TAYLOR[1:]), r)
        e = v.fma(series, power, v.sub(power, one))
        size = v.div(e, v.add(e, v.number(2.0)))
        rewriter.replace(op, [], [v.value(math.CopySignOp(size, op.operand))])
