"""Factorizations of batches of matrices as LAPACK makes them: LU with partial pivoting and Cholesky, by columns, all
matrices of a batch at once.
"""

from __future__ import annotations

import math

import numpy as np

from et_vm.values import Array


def adjoint(a: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.conjugate(a.swapaxes(-1, -2))


def lu(a: Array, pivoting: bool = True) -> tuple[Array, Array, Array]:
    """`a` [..., m, n] with L below and U on the diagonal and above, the rows exchanged as int32 [..., min(m, n)]
    counted from 1, and for each matrix the number (from 1) of the first zero on U's diagonal, or 0.
    """
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    count, least = math.prod(batch), min(m, n)
    work: Array = a.reshape(count, m, n).copy()
    pivots = np.empty((count, least), np.int32)
    info: Array = np.zeros(count, np.int32)
    every = np.arange(count)
    for k in range(least):
        column = work[:, k:, k]
        # The size of a complex number is to LAPACK the sum of its parts.
        size = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
        chosen = size.argmax(1) + k if pivoting else np.full(count, k)
        pivots[:, k] = chosen + 1
        swapped = work[every, chosen].copy()
        work[every, chosen] = work[:, k]
        work[:, k] = swapped
        pivot = work[:, k, k]
        zero = pivot == 0
        info = np.where(zero & (info == 0), k + 1, info)
        factor = work[:, k + 1 :, k] / np.where(zero, 1, pivot)[:, None]
        work[:, k + 1 :, k] = np.where(zero[:, None], work[:, k + 1 :, k], factor)
        work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * work[:, k, None, k + 1 :]
    result: Array = work.reshape(a.shape)
    failed: Array = info.astype(np.int32).reshape(batch)
    return result, pivots.reshape(*batch, least), failed


def exchanged(pivots: Array, count: int) -> Array:
    """The source of each of `count` rows, [..., count], after the exchanges given by `pivots`."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(count), (len(flat), 1))
    every = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        moved = order[every, other].copy()
        order[every, other] = order[:, k]
        order[:, k] = moved
    return order.reshape(*pivots.shape[:-1], count)


def parity(pivots: Array) -> Array:
    """1 or -1 for an even or odd number of exchanges."""
    places: Array = np.arange(1, pivots.shape[-1] + 1, dtype=np.int32)
    odd: Array = np.asarray(np.not_equal(pivots, places).sum(-1) % 2)
    return 1 - 2 * odd


def solve_triangular(a: Array, b: Array, upper: bool, unit: bool = False) -> Array:
    """The x of `a` x = `b`, by substitution, reading one triangle of `a`; infinite where it is singular."""
    n = a.shape[-1]
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    x: Array = np.broadcast_to(b, shape).copy()
    for k in range(n - 1, -1, -1) if upper else range(n):
        if not unit:
            x[..., k, :] /= a[..., k, k, None]
        rest = slice(0, k) if upper else slice(k + 1, n)
        x[..., rest, :] -= a[..., rest, k, None] * x[..., k, None, :]
    return x


def solve_lu(packed: Array, pivots: Array, b: Array) -> Array:
    """The x of a x = `b` from `lu` of a."""
    order = exchanged(pivots, packed.shape[-1])
    shape = (*np.broadcast_shapes(packed.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    whole = np.broadcast_to(b, shape)
    rows = np.broadcast_to(order[..., None], shape)
    moved = np.take_along_axis(whole, rows, -2)
    return solve_triangular(packed, solve_triangular(packed, moved, False, True), True)


def cholesky(a: Array) -> tuple[Array, Array]:
    """The lower factor of each matrix, from its lower triangle, and the order of the first minor that is not positive,
    or 0.
    """
    n = a.shape[-1]
    work = np.tril(a)
    info = np.zeros(a.shape[:-2], np.int32)
    for k in range(n):
        pivot = work[..., k, k].real
        bad = ~(pivot > 0)
        info = np.where(bad & (info == 0), k + 1, info)
        root = np.sqrt(np.where(bad, 1, pivot))
        good = (info == 0)[..., None]
        work[..., k, k] = np.where(info == 0, root, work[..., k, k])
        below = work[..., k + 1 :, k] / root[..., None]
        work[..., k + 1 :, k] = np.where(good, below, work[..., k + 1 :, k])
        column = np.where(good, work[..., k + 1 :, k], 0)
        work[..., k + 1 :, k + 1 :] -= np.tril(column[..., :, None] * np.conjugate(column[..., None, :]))
    return work, info.astype(np.int32)
