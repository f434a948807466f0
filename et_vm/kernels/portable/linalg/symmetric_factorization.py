"""Factorizations of symmetric and Hermitian matrices that need not be definite, by LAPACK's sytrf and hetrf.

Bunch and Kaufman's diagonal pivoting, "Some stable methods for calculating inertia and solving symmetric linear
systems", Math. Comp. 31 (1977), of a lower triangle: A = P1 L1 P2 L2 ... D ... L2' P2 L1' P1 with blocks of one or two
rows in D. A pivot p > 0 says that row p (from 1) was exchanged with that of its place; two equal p < 0 belong to a
block of two, whose second row was exchanged with row -p.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from et_vm.values import Array

__all__ = ["ldl", "paired", "solve_ldl"]


def _functions(lapack: Any, a: Array, hermitian: bool) -> tuple[Any, Any]:
    """To factorize and to solve, for the element type of a matrix."""
    kind = "he" if hermitian and a.dtype.kind == "c" else "sy"
    return lapack.get_lapack_funcs((f"{kind}trf", f"{kind}trs"), (a,))


def ldl(lapack: Any, a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L and D of the lower triangles of ``a`` [..., n, n] in one lower triangle, the pivots as int32 [..., n], and for
    each matrix the number (from 1) of the first block that is zero, or 0; ``lapack`` is `scipy.linalg.lapack`.
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
    """The x of a x = ``b`` from :func:`ldl` of a; their batches broadcast. Pivots are `paired` rows in [1, n]."""
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
