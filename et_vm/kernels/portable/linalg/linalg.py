"""Linear algebra on batches of matrices.

It is numpy's LAPACK where that has the factorization, and `factorization` where torch wants its parts.

Torch says of the signs of Q, R, U, V and of eigenvectors only what LAPACK does; numpy calls the same routines, so
they agree where nothing is degenerate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from et_ops.inference import factorization as rules
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import check_range
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.factorization import (
    adjoint,
    cholesky,
    exchanged,
    lu,
    parity,
    solve_lu,
    solve_triangular,
)
from et_vm.kernels.portable.scipy_extra import scipy_module
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL

_PASSES = 16
"""As many products of matrices take about as long as a factorization in LAPACK's slowest form, that with vectors."""


def spend_cubic(ctx: PrepareContext, tensor: Tensor) -> None:
    """Report the work on a batch of matrices, which is cubic."""
    ctx.work(tensor.numel * max(tensor.sizes[-2:]) * _PASSES)


def _complain(ctx: PrepareContext, name: str, info: Array, wanted: bool) -> None:
    if wanted and info.any():
        raise ctx.error(
            f"{name}: matrix {int(np.flatnonzero(info.reshape(-1))[0])} of the batch has no factorization"
        )


@kernel("aten::linalg_lu_factor_ex.out")
@inferred(rules.lu_factor, outs=3)
def linalg_lu_factor_ex_out(
    ctx: PrepareContext, A: Tensor, pivot: bool, check_errors: bool, LU: Tensor, pivots: Tensor, info: Tensor
) -> Step:
    """L and U of `A` [..., M, N] in one matrix, the exchanged rows, and where U is singular. Allocates them."""
    spend_cubic(ctx, A)

    def compute(a: Array) -> tuple[Array, ...]:
        made = lu(a, pivot)
        _complain(ctx, "lu", made[2], check_errors)
        return made

    return evaluated(compute, (A,), (LU, pivots, info))


@kernel("aten::linalg_lu.out")
@inferred(rules.lu, outs=3)
def linalg_lu_out(ctx: PrepareContext, A: Tensor, pivot: bool, P: Tensor, L: Tensor, U: Tensor) -> Step:
    """The permutation, L and U of `A` [..., M, N]. Without pivoting the permutation is empty. Allocates them."""
    spend_cubic(ctx, A)

    def compute(a: Array) -> tuple[Array, ...]:
        packed, pivots, _ = lu(a, pivot)
        return _unpacked(packed, pivots if pivot else None)

    return evaluated(compute, (A,), (P, L, U))


def _unpacked(packed: Array, pivots: Array | None) -> tuple[Array, Array, Array]:
    rows, columns = packed.shape[-2:]
    least = min(rows, columns)
    lower = np.tril(packed[..., :, :least], -1)
    lower[..., np.arange(least), np.arange(least)] = 1
    upper = np.triu(packed[..., :least, :])
    permutation: Array = np.empty(0, packed.dtype)
    if pivots is not None:
        order = exchanged(pivots, rows)
        places: Array = np.arange(rows, dtype=np.int64)[:, None]
        permutation = np.equal(places, order[..., None, :]).astype(packed.dtype)
    return permutation, lower, upper


@kernel("aten::lu_unpack.out")
@inferred(rules.lu_unpack, outs=3)
def lu_unpack_out(
    ctx: PrepareContext,
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool,
    unpack_pivots: bool,
    P: Tensor,
    L: Tensor,
    U: Tensor,
) -> Step:
    """The permutation, L and U of a packed factorization; what is not wanted is empty. Allocates them."""
    spend_cubic(ctx, LU_data)
    rows = LU_data.sizes[-2]

    def compute(packed: Array, pivots: Array) -> tuple[Array, ...]:
        check_range(ctx, pivots, 1, rows + 1, "LU_pivots")
        made = _unpacked(packed, pivots if unpack_pivots else None)
        return made if unpack_data else (made[0], packed[:0].reshape(-1), packed[:0].reshape(-1))

    return evaluated(compute, (LU_data, LU_pivots), (P, L, U))


@kernel("aten::linalg_lu_solve.out")
@inferred(rules.lu_solve)
def linalg_lu_solve_out(
    ctx: PrepareContext, LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool, out: Tensor
) -> Step:
    """The X of A X = `B` (X A = `B` unless `left`; with A's adjoint) from A's packed factorization. Allocates
    the result.
    """
    spend_cubic(ctx, LU)
    spend_cubic(ctx, B)
    compute = functools.partial(_lu_solved, ctx, left, adjoint)
    return evaluated(compute, (LU, pivots, B), (out,))


def _lu_solved(
    ctx: PrepareContext, left: bool, with_adjoint: bool, packed: Array, pivots: Array, b: Array
) -> Array:
    check_range(ctx, pivots, 1, packed.shape[-1] + 1, "pivots")
    # X A = B is A* X* = B*, and A* X = B is U* L* P* X = B.
    right = b if left else adjoint(b)
    if with_adjoint != (not left):
        y = solve_triangular(adjoint(packed), right, False)
        y = solve_triangular(adjoint(packed), y, True, True)
        order = exchanged(pivots, packed.shape[-1])
        rows = np.broadcast_to(np.argsort(order, -1)[..., None], y.shape)
        solved = np.take_along_axis(y, rows, -2)
    else:
        solved = solve_lu(packed, pivots, right)
    return solved if left else adjoint(solved)


@kernel("aten::linalg_cholesky_ex.L")
@inferred(rules.cholesky, outs=2)
def linalg_cholesky_ex_out(
    ctx: PrepareContext, self: Tensor, upper: bool, check_errors: bool, L: Tensor, info: Tensor
) -> Step:
    """The lower (or upper) Cholesky factor, and where a matrix is not positive definite. Allocates them."""
    spend_cubic(ctx, self)

    def compute(a: Array) -> tuple[Array, Array]:
        factor, failed = cholesky(adjoint(a) if upper else a)
        _complain(ctx, "cholesky", failed, check_errors)
        return adjoint(factor) if upper else factor, failed

    return evaluated(compute, (self,), (L, info))


@kernel("aten::cholesky.out")
@inferred(rules.of_square)
def cholesky_out(ctx: PrepareContext, self: Tensor, upper: bool, out: Tensor) -> Step:
    """The lower (or upper) Cholesky factor; traps at a matrix that is not positive definite. Allocates it."""
    spend_cubic(ctx, self)

    def compute(a: Array) -> tuple[Array]:
        factor, failed = cholesky(adjoint(a) if upper else a)
        _complain(ctx, "cholesky", failed, True)
        return (adjoint(factor) if upper else factor,)

    return evaluated(compute, (self,), (out,))


@kernel("aten::linalg_inv_ex.inverse")
@inferred(rules.inverse, outs=2)
def linalg_inv_ex_out(
    ctx: PrepareContext, A: Tensor, check_errors: bool, inverse: Tensor, info: Tensor
) -> Step:
    """The inverse, and where there is none. Allocates the factorization."""
    spend_cubic(ctx, A)

    def compute(a: Array) -> tuple[Array, Array]:
        packed, pivots, failed = lu(a)
        _complain(ctx, "inv", failed, check_errors)
        return solve_lu(packed, pivots, np.eye(a.shape[-1], dtype=a.dtype)), failed

    return evaluated(compute, (A,), (inverse, info))


@kernel("aten::_linalg_solve_ex.result")
@inferred(rules.solve, outs=4)
def linalg_solve_ex_out(
    ctx: PrepareContext,
    A: Tensor,
    B: Tensor,
    left: bool,
    check_errors: bool,
    result: Tensor,
    LU: Tensor,
    pivots: Tensor,
    info: Tensor,
) -> Step:
    """The X of `A` X = `B` (X `A` = `B` unless `left`), and the factorization. `B` is a vector for each
    matrix when it has their shape without the last dimension. Allocates them.
    """
    spend_cubic(ctx, A)
    shape = result.sizes
    vector = len(B.sizes) == 1 or B.sizes == A.sizes[:-1]
    matrix = (*B.sizes, 1) if vector else B.sizes

    def compute(a: Array, b: Array) -> tuple[Array, ...]:
        packed, rows, failed = lu(a)
        _complain(ctx, "solve", failed, check_errors)
        return (
            _lu_solved(ctx, left, False, packed, rows, b.reshape(matrix)).reshape(shape),
            packed,
            rows,
            failed,
        )

    return evaluated(compute, (A, B), (result, LU, pivots, info))


def _as_torch(a: Array) -> Array:
    """The matrix torch factorizes for a determinant: of a real one, the columns, as LAPACK wants them, for rows."""
    return a if a.dtype.kind == "c" else a.swapaxes(-1, -2)


@kernel("aten::_linalg_det.result")
@inferred(rules.determinant, outs=3)
def linalg_det_out(ctx: PrepareContext, A: Tensor, result: Tensor, LU: Tensor, pivots: Tensor) -> Step:
    """The determinant, and the factorization it is from. Allocates them."""
    spend_cubic(ctx, A)

    def compute(a: Array) -> tuple[Array, ...]:
        packed, rows, _ = lu(_as_torch(a))
        diagonal: Array = np.diagonal(packed, axis1=-2, axis2=-1)
        return np.asarray(diagonal.prod(-1) * parity(rows)), packed, rows

    return evaluated(compute, (A,), (result, LU, pivots))


@kernel("aten::_linalg_slogdet.sign")
@inferred(rules.log_determinant, outs=4)
def linalg_slogdet_out(
    ctx: PrepareContext, A: Tensor, sign: Tensor, logabsdet: Tensor, LU: Tensor, pivots: Tensor
) -> Step:
    """The sign and the logarithm of the magnitude of the determinant, and the factorization. Allocates them."""
    spend_cubic(ctx, A)

    def compute(a: Array) -> tuple[Array, ...]:
        packed, rows, _ = lu(_as_torch(a))
        diagonal: Array = np.diagonal(packed, axis1=-2, axis2=-1)
        size: Array = np.abs(diagonal)
        unit: Any = np.where(size == 0, 0, diagonal / np.where(size == 0, 1, size))
        return np.asarray(unit.prod(-1) * parity(rows)), np.asarray(np.log(size).sum(-1)), packed, rows

    return evaluated(compute, (A,), (sign, logabsdet, LU, pivots))


@kernel("aten::linalg_solve_triangular.out")
@inferred(rules.solve_triangular)
def linalg_solve_triangular_out(
    ctx: PrepareContext, self: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool, out: Tensor
) -> Step:
    """The X of A X = `B` (X A = `B` unless `left`) with a triangular A = `self`. Allocates the result."""
    spend_cubic(ctx, self)
    spend_cubic(ctx, B)

    def compute(a: Array, b: Array) -> Array:
        if left:
            return solve_triangular(a, b, upper, unitriangular)
        turned = solve_triangular(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, unitriangular)
        return turned.swapaxes(-1, -2)

    return evaluated(compute, (self, B), (out,))


@kernel("aten::triangular_solve.X")
@inferred(rules.triangular_solve, outs=2)
def triangular_solve_out(
    ctx: PrepareContext,
    self: Tensor,
    A: Tensor,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    X: Tensor,
    M: Tensor,
) -> Step:
    """The X of `A` X = `self` with a triangular `A`, or its transpose, and `A` for each matrix of X. Allocates
    the result.
    """
    spend_cubic(ctx, A)
    spend_cubic(ctx, self)

    def compute(b: Array, a: Array) -> tuple[Array, Array]:
        factor = a.swapaxes(-1, -2) if transpose else a
        return solve_triangular(factor, b, upper != transpose, unitriangular), a

    return evaluated(compute, (self, A), (X, M))


_PRODUCTS = 16
"""Products of matrices, and what solving takes, before they are squared."""

_REACH = 5.371920351148152
"""The largest norm of matrices that are not squared."""


def exponential(linalg: Any, a: Array, spend: Callable[[int], None] | None = None) -> Array:
    """The exponentials of `a` [..., n, n], float64 or complex128; NaN where it has elements that are not finite.
    `linalg` is `scipy.linalg`. Each matrix is squared as often as its norm has bits, which `spend` is
    told as work.
    """
    good = np.isfinite(a).all((-2, -1), keepdims=True)
    finite: Array = np.where(good, a, 0)
    if spend is not None:
        largest = float(np.abs(finite).sum(-2).max(initial=0))
        squarings = max(math.frexp(largest / _REACH)[1], 0)
        spend(squarings * (a.size * a.shape[-1] + CALL))
    return np.where(good, linalg.expm(finite), np.nan)


@kernel("aten::linalg_matrix_exp.out")
@inferred(rules.matrix_exponential, kinds=(FLOAT, COMPLEX))
def linalg_matrix_exp_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The exponential of each matrix of `self`. Allocates a dozen arrays of its size, in double precision."""
    ctx.work(self.numel * self.sizes[-1] * _PRODUCTS)
    wide = ScalarType.COMPLEXDOUBLE if self.scalar_type.is_complex else ScalarType.DOUBLE
    function = partial(exponential, scipy_module(ctx, "scipy.linalg"), spend=ctx.spend)
    return evaluated(function, (self,), (out,), numpy_dtype(wide))
