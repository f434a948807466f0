"""The factorization of symmetric and Hermitian matrices that need not be definite, as LAPACK's sytrf and hetrf make it
of a lower triangle: Bunch and Kaufman's diagonal pivoting, "Some stable methods for calculating inertia and solving
symmetric linear systems", Math. Comp. 31 (1977). A = P1 L1 P2 L2 ... D ... L2' P2 L1' P1 with blocks of one or two
rows in D.

A pivot p > 0 says that row p (from 1) was exchanged with that of its place; two equal p < 0 belong to a block of two,
whose second row was exchanged with row -p.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from et_vm.values import Array

_ALPHA = (1 + math.sqrt(17)) / 8


def ldl(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L and D of the lower triangles of ``a`` [..., n, n] in one lower triangle, the pivots as int32 [..., n], and for
    each matrix the number (from 1) of the first block that is zero, or 0.
    """
    n = a.shape[-1]
    count = math.prod(a.shape[:-2])
    work: Array = np.tril(a).reshape(count, n, n)
    pivots: Array = np.zeros((count, n), np.int32)
    info: Array = np.zeros(count, np.int32)
    for matrix, order, failed in zip(work, pivots, info[:, None], strict=True):
        failed[0] = _factorize(matrix, order, hermitian and a.dtype.kind == "c")
    return work.reshape(a.shape), pivots.reshape(a.shape[:-1]), info.reshape(a.shape[:-2])


def _size(values: Array) -> Array:
    # The size of a complex number is to LAPACK the sum of its parts.
    return np.abs(values.real) + np.abs(values.imag) if values.dtype.kind == "c" else np.abs(values)


def _factorize(a: Any, pivots: Array, hermitian: bool) -> int:
    """Factorize the lower triangle of one matrix in its place."""
    n = len(a)
    failed = 0
    k = 0
    while k < n:
        if hermitian:
            a[k, k] = a[k, k].real
        kp, two = _pivot(a, k, hermitian)
        if kp < 0:
            failed = failed or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        kk = k + 1 if two else k
        if kp != kk:
            _exchange(a, k, kk, kp, hermitian)
        if two:
            _eliminate_two(a, k, hermitian)
            pivots[k : k + 2] = -(kp + 1)
        else:
            _eliminate_one(a, k, hermitian)
            pivots[k] = kp + 1
        k += 2 if two else 1
    return failed


def _pivot(a: Any, k: int, hermitian: bool) -> tuple[int, bool]:
    """The row to exchange, -1 where there is nothing to eliminate, and whether the block has two rows."""
    n = len(a)
    own = abs(a[k, k].real) if hermitian else float(_size(a[k, k]))
    below = _size(a[k + 1 :, k])
    largest = int(below.argmax()) + k + 1 if n > k + 1 else k
    column = float(below.max(initial=0.0))
    if max(own, column) == 0 or math.isnan(own):
        return -1, False
    if own >= _ALPHA * column:
        return k, False
    row = float(
        max(_size(a[largest, k:largest]).max(initial=0.0), _size(a[largest + 1 :, largest]).max(initial=0.0))
    )
    if own >= _ALPHA * column * (column / row):
        return k, False
    theirs = abs(a[largest, largest].real) if hermitian else float(_size(a[largest, largest]))
    return largest, theirs < _ALPHA * row


def _exchange(a: Any, k: int, kk: int, kp: int, hermitian: bool) -> None:
    """Rows and columns ``kk`` and ``kp`` of what is not yet eliminated."""
    for left, right in (
        (a[kp + 1 :, kk], a[kp + 1 :, kp]),
        (a[kk + 1 : kp, kk], a[kp, kk + 1 : kp]),
        (a[kk : kk + 1, kk], a[kp : kp + 1, kp]),
        (a[kk : kk + 1, k:kk], a[kp : kp + 1, k:kk]),
    ):
        kept = left.copy()
        left[...] = right
        right[...] = kept
    if hermitian:
        np.conjugate(a[kk + 1 : kp, kk], out=a[kk + 1 : kp, kk])
        np.conjugate(a[kp, kk:kp], out=a[kp, kk:kp])
        a[kk, kk], a[kp, kp] = a[kk, kk].real, a[kp, kp].real


def _turned(values: Array, hermitian: bool) -> Array:
    return np.conjugate(values) if hermitian else values


def _eliminate_one(a: Any, k: int, hermitian: bool) -> None:
    column = a[k + 1 :, k]
    share = column / a[k, k]
    a[k + 1 :, k + 1 :] -= np.tril(share[:, None] * _turned(column, hermitian))
    a[k + 1 :, k] = share


def _eliminate_two(a: Any, k: int, hermitian: bool) -> None:
    columns = a[k + 2 :, k : k + 2].copy()
    # Everything relative to the block's corner, which is its largest element.
    corner = a[k + 1, k]
    scale = abs(corner) if hermitian else corner
    low, high = a[k + 1, k + 1] / scale, a[k, k] / scale
    unit = corner / scale
    factor = 1 / (low * high - 1) / scale
    first = factor * (low * columns[:, 0] - unit * columns[:, 1])
    second = factor * (high * columns[:, 1] - _turned(unit, hermitian) * columns[:, 0])
    shares: Array = np.stack([first, second], -1)
    a[k + 2 :, k + 2 :] -= np.tril(columns @ _turned(shares, hermitian).T)
    a[k + 2 :, k : k + 2] = shares


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


def solve_ldl(packed: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """The x of a x = ``b`` from :func:`ldl` of a; their batches broadcast."""
    n = packed.shape[-1]
    batch = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    count = math.prod(batch)
    x: Array = np.broadcast_to(b, (*batch, *b.shape[-2:])).copy().reshape(count, n, b.shape[-1])
    factors = np.broadcast_to(packed, (*batch, n, n)).reshape(count, n, n)
    orders = np.broadcast_to(pivots, (*batch, n)).reshape(count, n)
    for a, order, right in zip(factors, orders, x, strict=True):
        _solve(a, order.tolist(), right, hermitian and packed.dtype.kind == "c")
    return x.reshape(*batch, n, b.shape[-1])


def _swap(x: Any, i: int, j: int) -> None:
    if i != j:
        x[[i, j]] = x[[j, i]]


def _solve(a: Any, pivots: list[int], x: Any, hermitian: bool) -> None:
    n = len(a)
    blocks: list[tuple[int, int]] = []
    k = 0
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        end = k + size
        _swap(x, end - 1, abs(pivots[k]) - 1)
        x[end:] -= a[end:, k:end] @ x[k:end]
        block = a[k:end, k:end]
        if size == 1:
            x[k] /= block[0, 0].real if hermitian else block[0, 0]
        else:
            corner = block[1, 0]
            other = _turned(corner, hermitian)
            high, low = block[0, 0] / other, block[1, 1] / corner
            first, second = x[k] / other, x[k + 1] / corner
            x[k], x[k + 1] = (
                (low * first - second) / (high * low - 1),
                (high * second - first) / (high * low - 1),
            )
        blocks.append((k, end))
        k = end
    for k, end in reversed(blocks):
        x[k:end] -= _turned(a[end:, k:end], hermitian).T @ x[end:]
        _swap(x, end - 1, abs(pivots[k]) - 1)
