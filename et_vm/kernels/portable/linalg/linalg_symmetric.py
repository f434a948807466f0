"""Equations with symmetric and Hermitian matrices: by LAPACK's sytrf and hetrf, or from a Cholesky factor.

Bunch and Kaufman's diagonal pivoting, "Some stable methods for calculating inertia and solving symmetric linear
systems", Math. Comp. 31 (1977), of a lower triangle: A = P1 L1 P2 L2 ... D ... L2' P2 L1' P1 with blocks of one or two
rows in D. A pivot p > 0 says that row p (from 1) was exchanged with that of its place; two equal p < 0 belong to a
block of two, whose second row was exchanged with row -p.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from et_ops.inference import factorization as rules
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.factorization import adjoint, solve_triangular
from et_vm.kernels.portable.linalg.linalg import spend_cubic
from et_vm.kernels.portable.scipy_extra import scipy_module
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


@kernel("aten::linalg_ldl_factor_ex.out")
@inferred(rules.ldl_factor, outs=3)
def linalg_ldl_factor_ex_out(
    ctx: PrepareContext,
    self: Tensor,
    hermitian: bool,
    check_errors: bool,
    LD: Tensor,
    pivots: Tensor,
    info: Tensor,
) -> Step:
    """L and D of the lower triangles of `self` in one lower triangle, the exchanged rows, and where D is singular.
    Allocates them.
    """
    spend_cubic(ctx, self)
    lapack = scipy_module(ctx, "scipy.linalg.lapack")

    def compute(a: Array) -> tuple[Array, ...]:
        made = ldl(lapack, a, hermitian)
        if check_errors and made[2].any():
            failed = int(np.flatnonzero(made[2].reshape(-1))[0])
            raise ctx.error(f"matrix {failed} of the batch has no factorization: D is singular")
        return made

    return evaluated(compute, (self,), (LD, pivots, info))


@kernel("aten::linalg_ldl_solve.out")
@inferred(rules.ldl_solve)
def linalg_ldl_solve_out(
    ctx: PrepareContext, LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool, out: Tensor
) -> Step:
    """The X of A X = `B` from A's packed factorization. Allocates the result and rows of it."""
    spend_cubic(ctx, LD)
    spend_cubic(ctx, B)
    n = LD.sizes[-1]
    lapack = scipy_module(ctx, "scipy.linalg.lapack")

    def compute(packed: Array, order: Array, b: Array) -> Array:
        rows = np.abs(order.astype(np.int64))
        wrong = (rows == 0) | (rows > n)
        if wrong.any():
            raise ctx.trap(arg="pivots", expected=f"rows in [1, {n}]", got=int(order[wrong][0]))
        if not paired(order):
            raise ctx.trap(
                arg="pivots", expected="each negative pivot next to an equal one", got=order.tolist()
            )
        return solve_ldl(lapack, packed, order, b, hermitian)

    return evaluated(compute, (LD, pivots, B), (out,))


def _solved(factor: Array, b: Array, upper: bool) -> Array:
    """The x of L L* x = `b`, or U* U x = `b`."""
    if upper:
        return solve_triangular(factor, solve_triangular(adjoint(factor), b, False), True)
    return solve_triangular(adjoint(factor), solve_triangular(factor, b, False), True)


@kernel("aten::cholesky_solve.out")
@inferred(rules.cholesky_solve)
def cholesky_solve_out(ctx: PrepareContext, self: Tensor, input2: Tensor, upper: bool, out: Tensor) -> Step:
    """The X of A X = `self` from A's Cholesky factor `input2`. Allocates the result twice."""
    spend_cubic(ctx, input2)
    spend_cubic(ctx, self)

    def compute(b: Array, factor: Array) -> Array:
        return _solved(factor, b, upper)

    return evaluated(compute, (self, input2), (out,))


@kernel("aten::cholesky_inverse.out")
@inferred(rules.of_square)
def cholesky_inverse_out(ctx: PrepareContext, self: Tensor, upper: bool, out: Tensor) -> Step:
    """The inverse of A from its Cholesky factor `self`. Allocates the result twice."""
    spend_cubic(ctx, self)
    n = self.sizes[-1]

    def compute(factor: Array) -> Array:
        whole = np.broadcast_to(np.eye(n, dtype=factor.dtype), factor.shape)
        return _solved(factor, whole, upper)

    return evaluated(compute, (self,), (out,))


__all__ = ["ldl", "paired", "solve_ldl"]


def _functions(lapack: Any, a: Array, hermitian: bool) -> tuple[Any, Any]:
    """To factorize and to solve, for the element type of a matrix."""
    kind = "he" if hermitian and a.dtype.kind == "c" else "sy"
    return lapack.get_lapack_funcs((f"{kind}trf", f"{kind}trs"), (a,))


def ldl(lapack: Any, a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L and D of the lower triangles of `a` [..., n, n] in one lower triangle, the pivots as int32 [..., n], and for
    each matrix the number (from 1) of the first block that is zero, or 0; `lapack` is `scipy.linalg.lapack`.
    """
    n = a.shape[-1]
    factorize, _ = _functions(lapack, a, hermitian)
    work: Array = np.tril(a).reshape(math.prod(a.shape[:-2]), n, n)
    pivots: Array = np.zeros(work.shape[:-1], np.int32)
    info: Array = np.zeros(len(work), np.int32)
    for at, matrix in enumerate(work if n else ()):
        packed, pivots[at], info[at] = factorize(matrix, lower=1)
        work[at] = np.tril(packed)
    return work.reshape(a.shape), pivots.reshape(a.shape[:-1]), info.reshape(a.shape[:-2])


def paired(pivots: Array) -> bool:
    """Whether each negative pivot belongs to a block of two."""
    n = pivots.shape[-1]
    for row in pivots.reshape(math.prod(pivots.shape[:-1]), n).tolist():
        k = 0
        while k < n:
            if row[k] > 0:
                k += 1
            elif k + 1 < n and row[k] == row[k + 1]:
                k += 2
            else:
                return False
    return True


def solve_ldl(lapack: Any, packed: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """The x of a x = `b` from `ldl` of a; their batches broadcast. Pivots are `paired` rows in [1, n]."""
    n, columns = b.shape[-2:]
    _, solve = _functions(lapack, packed, hermitian)
    batch = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    count = math.prod(batch)
    x: Array = np.broadcast_to(b, (*batch, n, columns)).copy().reshape(count, n, columns)
    factors = np.broadcast_to(packed, (*batch, n, n)).reshape(count, n, n)
    orders = np.broadcast_to(pivots, (*batch, n)).reshape(count, n)
    if n and columns:
        for at in range(count):
            x[at], _ = solve(factors[at], orders[at], x[at], lower=1)
    return x.reshape(*batch, n, columns)
