"""Complex tensors as pairs of real ones; Fourier transforms as matrix products.

Kernels are of real numbers. A transform of `n = p q` elements is `q` transforms of `p` elements, products with roots of
unity, and `p` transforms of `q` elements (Cooley and Tukey, 1965); one that is not split further is the product with
its matrix. Spectrograms, and what is computed of them, need nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.data import Blob
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema.tensors import sized_tensor, tensor_type
from et_ir.passes.common.constant_fold import ConstantFoldPass
from et_ir.passes.common.dce import DcePass
from et_ir.passes.to_executorch.legalize import (  # noqa: F401
    complex_arithmetic,  # pyright: ignore[reportUnusedImport]
    complex_moves,  # pyright: ignore[reportUnusedImport]
)
from et_ir.passes.to_executorch.legalize.complex_parts import RULES, Pair, Parts, Results, fits, is_complex
from et_ir.rewriting import rewrite

__all__ = ["SplitComplexPass"]

_NOTHING: Final = 1e-15
"""Bound on the sine or cosine of a multiple of a right angle, in double precision."""
LARGEST: Final = 16
"""The most elements of a transform that is not split, unless their number is prime."""


@dataclass(frozen=True)
class SplitComplexPass(ModulePass):
    """Replace complex tensors by pairs of real ones.

    They are of f32 parts, and of sizes that are known. Before:

    ```mlir
    %1 = edge._fft_r2c %x {dim = [1], normalization = 0, onesided = true}
      : (tensor<3x4xf32>) -> tensor<3x3xcomplex<f32>>
    %2 = edge.view_as_real_copy %1 : (tensor<3x3xcomplex<f32>>) -> tensor<3x3x2xf32>
    ```

    After:

    ```mlir
    %1 = program.get @cosines : tensor<4x3xf32>
    %2 = program.get @sines : tensor<4x3xf32>
    %3 = edge.mm %x, %1 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    %4 = edge.mm %x, %2 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    %5 = edge.view_copy %3 {size = [3, 3, 1]} : (tensor<3x3xf32>) -> tensor<3x3x1xf32>
    %6 = edge.view_copy %4 {size = [3, 3, 1]} : (tensor<3x3xf32>) -> tensor<3x3x1xf32>
    %7 = edge.cat [%5, %6] {dim = 2} : (tensor<3x3x1xf32>, tensor<3x3x1xf32>) -> tensor<3x3x2xf32>
    ```

    Complex inputs and results of a method stay.
    """

    name = "split-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if rewrite(op, [OnRealParts(Globals(op))]):
            ConstantFoldPass().apply(ctx, op)  # the parts of constants
            DcePass().apply(ctx, op)


class OnRealParts(RewritePattern):
    """Ops on complex tensors."""

    roots = tuple({*RULES, edge.UnderscoreFftR2cOp, edge.UnderscoreFftC2cOp, edge.UnderscoreFftC2rOp})

    def __init__(self, symbols: Globals) -> None:
        self.parts = _RealParts(symbols)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        if not any(map(is_complex, (*op.operands, *op.results))) or not fits(op):
            return
        self.parts.rewriter = rewriter
        rule = _TRANSFORMS.get(type(op)) or RULES[type(op)]
        found: Results = rule(self.parts, op)
        if found is None:
            return
        results = [found] if isinstance(found, Pair | SSAValue) else found
        rewriter.replace(op, [], [self.parts.joined(r) if isinstance(r, Pair) else r for r in results])


class _Lines(NamedTuple):
    """The parts of complex rows, of shape `[rows, elements]`; no imaginary one where that is zero."""

    real: SSAValue
    imag: SSAValue | None


class _RealParts(Parts):
    """Builds real ops; a complex tensor is there where no rule takes the parts."""

    def __init__(self, symbols: Globals) -> None:
        super().__init__()
        self._symbols = symbols
        self._constants: dict[bytes, str] = {}

    def joined(self, parts: Pair) -> SSAValue:
        value = self(edge.ComplexOp, parts.real, parts.imag)
        self.note(value, parts)
        return value

    def constant(self, name: str, values: np.ndarray[Any, Any]) -> SSAValue:
        """A constant of f32."""
        type = sized_tensor(f32, values.shape)
        data = values.astype("<f4").tobytes()
        key = repr(values.shape).encode() + data
        if key not in self._constants:
            self._constants[key] = self._symbols.add_constant(name, type, Blob.of(name, data)).key
        return self.rewriter.insert(GetOp(self._constants[key], type)).result

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return value if tuple(shape) == tensor_type(value).get_shape() else super().view(value, shape)

    def transposed(
        self, value: SSAValue, rows: int, shape: tuple[int, int], after: tuple[int, int]
    ) -> SSAValue:
        """The elements of `[rows, *shape]` with the last two dimensions exchanged, in the shape `after`."""
        whole = self.view(value, (rows, *shape))
        return self.view(self(edge.PermuteCopyOp, whole, (0, 2, 1)), after)


@dataclass(frozen=True)
class _Transform:
    """A transform of rows."""

    b: _RealParts
    sign: int
    """Of the exponent: -1 forward."""

    def roots(self, exponents: np.ndarray[Any, Any], count: int, scale: float = 1) -> _Lines:
        """Constants: the roots of unity of order `count`, with these exponents."""
        angles = 2 * math.pi * (exponents % count) / count
        real, imag = (np.where(abs(part) < _NOTHING, 0, part) for part in (np.cos(angles), np.sin(angles)))
        return _Lines(
            self.b.constant("cosines", scale * real),
            self.b.constant("sines", scale * np.where(imag == 0, 0, self.sign * imag)),
        )

    def of(self, x: _Lines, rows: int, size: int, count: int, scale: float = 1) -> _Lines:
        """The first `count` elements of the transforms of `rows` rows of `size` elements, times `scale`."""
        first = _first_factor(size)
        if first == size:
            return self._product(x, self.roots(np.outer(np.arange(size), np.arange(count)), size, scale))
        second = size // first
        columns = (rows * second, first)
        x = self._each(x, lambda part: self.b.transposed(part, rows, (first, second), columns))
        x = self.of(x, rows * second, first, first, scale)
        x = self._each(x, lambda part: self.b.view(part, (rows, second, first)))
        x = self._times(x, self.roots(np.outer(np.arange(second), np.arange(first)), size))
        lines = (rows * first, second)
        x = self._each(x, lambda part: self.b.transposed(part, rows, (second, first), lines))
        needed = -(-count // first)
        x = self.of(x, rows * first, second, needed)
        whole = (rows, needed * first)
        x = self._each(x, lambda part: self.b.transposed(part, rows, (first, needed), whole))
        if needed * first == count:
            return x
        return self._each(x, lambda part: self.b(edge.SliceCopyTensorOp, part, 1, 0, count))

    @staticmethod
    def _each(x: _Lines, change: Callable[[SSAValue], SSAValue]) -> _Lines:
        return _Lines(change(x.real), None if x.imag is None else change(x.imag))

    def _product(self, x: _Lines, matrix: _Lines) -> _Lines:
        """The product with a matrix."""
        return self._combined(x, matrix, lambda part, other: self.b(edge.MmOp, part, other))

    def _times(self, x: _Lines, factors: _Lines) -> _Lines:
        """The products of elements."""
        return self._combined(x, factors, self.b.mul)

    def _combined(self, x: _Lines, y: _Lines, multiply: Callable[[SSAValue, SSAValue], SSAValue]) -> _Lines:
        assert y.imag is not None
        real, imag = multiply(x.real, y.real), multiply(x.real, y.imag)
        if x.imag is None:
            return _Lines(real, imag)
        return _Lines(self.b.sub(real, multiply(x.imag, y.imag)), self.b.add(imag, multiply(x.imag, y.real)))


def _first_factor(size: int) -> int:
    """How a transform is split: the size of the first ones, itself if it is not. Stages are few, and of like sizes."""
    if size <= LARGEST:
        return size
    stages = math.ceil(math.log(size) / math.log(LARGEST) - 1e-9)
    ideal = size ** (1 / stages)
    divisors = [n for n in range(2, LARGEST + 1) if size % n == 0]
    if divisors:
        return min(divisors, key=lambda n: (abs(n - ideal), n))
    return next((n for n in range(LARGEST + 1, math.isqrt(size) + 1) if size % n == 0), size)


def _along(b: _RealParts, x: _Lines, dim: int, count: int, sign: int, scale: float = 1) -> _Lines:
    """The first `count` elements of transforms along a dimension."""
    shape = list(tensor_type(x.real).get_shape())
    order = [*(d for d in range(len(shape)) if d != dim), dim]
    back = sorted(range(len(shape)), key=order.__getitem__)
    rows, size = math.prod(shape) // shape[dim], shape[dim]

    is_last = dim == len(shape) - 1

    def lines(part: SSAValue) -> SSAValue:
        return b.view(part if is_last else b(edge.PermuteCopyOp, part, order), (rows, size))

    x = _Lines(lines(x.real), None if x.imag is None else lines(x.imag))
    found = _Transform(b, sign).of(x, rows, size, count, scale)
    after = [*(shape[d] for d in order[:-1]), count]

    def whole(part: SSAValue) -> SSAValue:
        seen = b.view(part, after)
        return seen if is_last else b(edge.PermuteCopyOp, seen, back)

    return _Lines(whole(found.real), None if found.imag is None else whole(found.imag))


def _scale(normalization: int, sizes: Sequence[int]) -> float:
    """The factor of a normalization: none, or division by the root of the number of elements or by this itself."""
    return (1.0, math.prod(sizes) ** -0.5, 1 / math.prod(sizes))[normalization]


def _dims(op: EdgeOp) -> list[int] | None:
    """The dimensions of a transform of f32, of elements; None for others."""
    dims = op.arg("dim")
    shape = tensor_type(op.operands[0]).get_shape()
    real = is_complex(op.operands[0]) or tensor_type(op.operands[0]).element_type == f32
    if not real or not dims or 0 in shape:
        return None
    return [dim % len(shape) for dim in dims]


def of_real(b: _RealParts, op: edge.UnderscoreFftR2cOp) -> Pair | None:
    """The transform along the last dimension, of which half determines it, and then along the others."""
    dims, x = _dims(op), op.operands[0]
    if dims is None:
        return None
    shape, last = tensor_type(x).get_shape(), dims[-1]
    count = shape[last] // 2 + 1 if op.arg("onesided") else shape[last]
    scale = _scale(op.arg("normalization"), [shape[dim] for dim in dims])
    found = _along(b, _Lines(x, None), last, count, -1, scale)
    for dim in dims[:-1]:
        found = _along(b, found, dim, shape[dim], -1)
    return _pair(found)


def of_complex(b: _RealParts, op: edge.UnderscoreFftC2cOp) -> Pair | None:
    """The transform along each dimension."""
    dims = _dims(op)
    if dims is None:
        return None
    shape = tensor_type(op.operands[0]).get_shape()
    scale = _scale(op.arg("normalization"), [shape[dim] for dim in dims])
    found = _Lines(*b.of(op.operands[0]))
    for dim in dims:
        found = _along(b, found, dim, shape[dim], -1 if op.arg("forward") else 1, scale)
        scale = 1
    return _pair(found)


def to_real(b: _RealParts, op: edge.UnderscoreFftC2rOp) -> SSAValue | None:
    """The inverse transform, whose last dimension is of a spectrum of which the other half is the conjugate: the real
    part of the transform of this half with zeros behind it, where what stands for two elements is doubled.
    """
    dims, size = _dims(op), op.arg("last_dim_size")
    if dims is None or not isinstance(size, int):
        return None
    shape, last = list(tensor_type(op.operands[0]).get_shape()), dims[-1]
    scale = _scale(op.arg("normalization"), [*(shape[dim] for dim in dims[:-1]), size])
    found = _Lines(*b.of(op.operands[0]))
    for dim in dims[:-1]:
        found = _along(b, found, dim, shape[dim], 1)
    twice = np.full([shape[last] if dim == last else 1 for dim in range(len(shape))], 2.0)
    twice.flat[0] = 1
    if size % 2 == 0:
        twice.flat[-1] = 1
    weights = b.constant("weights", twice)
    behind = [0, 0] * (len(shape) - 1 - last) + [0, size - shape[last]]

    def padded(part: SSAValue) -> SSAValue:
        weighted = b.mul(part, weights)
        return b(edge.ConstantPadNdOp, weighted, behind, 0) if size > shape[last] else weighted

    assert found.imag is not None
    return _along(b, _Lines(padded(found.real), padded(found.imag)), last, size, 1, scale).real


def _pair(found: _Lines) -> Pair:
    assert found.imag is not None
    return Pair(found.real, found.imag)


_TRANSFORMS: Final[dict[type[EdgeOp], Callable[[Any, Any], Results]]] = {
    edge.UnderscoreFftR2cOp: of_real,
    edge.UnderscoreFftC2cOp: of_complex,
    edge.UnderscoreFftC2rOp: to_real,
}
