"""Resampling of images of bytes in fixed point, as torch does it: columns, then rows, each rounded to bytes.

The weights of a pass are integers of at most 15 bits, with as many binary places as the largest of them allows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from et_vm.values import Array

_BITS = 15
_MOST_PLACES = 22


def fixed_point(weights: Array) -> tuple[Array, int]:
    """``weights`` [results, elements] as integers, and the number of their binary places."""
    largest = float(weights.max(initial=0.0))
    places = 0
    while places < _MOST_PLACES and int(0.5 + largest * (1 << (places + 1))) < 1 << _BITS:
        places += 1
    scaled = weights * (1 << places)
    return np.where(weights < 0, scaled - 0.5, scaled + 0.5).astype(np.int64), places


def dense(rows: Sequence[tuple[int, Array]], extent: int) -> Array:
    """Weights [results, elements] from the first element and the weights of each result."""
    matrix = np.zeros((len(rows), extent))
    for at, (first, weights) in enumerate(rows):
        matrix[at, first : first + len(weights)] += weights
    return matrix


def _pass(lines: Array, weights: Array) -> Array:
    """``lines`` [..., elements] of bytes to [..., results]."""
    factors, places = fixed_point(weights)
    half = 1 << (places - 1) if places else 0
    return np.clip((lines.astype(np.int64) @ factors.T + half) >> places, 0, 255)


def resample_bytes(image: Array, rows: Array, columns: Array, out: Array) -> None:
    """``image`` (N, C, H, W) resampled with the weights of its ``rows`` [h, H] and ``columns`` [w, W]. A direction
    that keeps its size is left alone. Allocates the image with its width changed and the result, in int64.
    """
    made = image if columns.shape[0] == columns.shape[1] else _pass(image, columns)
    if rows.shape[0] != rows.shape[1]:
        made = _pass(made.swapaxes(2, 3), rows).swapaxes(2, 3)
    np.copyto(out, made, "unsafe")
