"""Bessel functions of order 0 and 1 of both kinds, of float64 arrays.

Up to 20 from Bessel's integral (DLMF 10.9.1), J(x) = mean of cos(x sin t - n t) over a period, by the trapezoidal
rule, whose error is J of an order as high as it has nodes: with 56 of them below 1e-17. The functions of the second
kind are Neumann's series in those of the first kind (DLMF 10.8.3 and its derivative); because each of its terms,
of orders up to 55, is a mean over the same 112 nodes, so is the sum, with other weights. Above 20 Hankel's
expansions (DLMF 10.17.3), whose least term is of the size of exp(-2 x).

The error is that of a few roundings of numbers of size 1 (or of the result if it is larger): relative everywhere
but near zeros.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from et_vm.kernels.portable.pointwise.piecewise import Piece, piecewise
from et_vm.values import Array

_TURN = 20.0
_NODES = 56
_NEUMANN_TERMS = 27
_HANKEL_TERMS = 28
_EULER = 0.5772156649015329


def _quarter(nodes: int) -> tuple[Any, Any]:
    """The nodes of a quarter period, and their shares: the integrands have its symmetry, so that each of these
    stands for four of all nodes, the first and last for two.
    """
    shares = np.full(nodes // 4 + 1, 4 / nodes)
    shares[[0, -1]] /= 2
    return np.arange(nodes // 4 + 1) * (2 * math.pi / nodes), shares


def _first_kind_weights(order: int, nodes: int) -> Array:
    angles, shares = _quarter(nodes)
    return shares * np.sin(angles) if order else shares


def _second_kind_weights(order: int, nodes: int) -> Array:
    angles, shares = _quarter(nodes)
    k: Any = np.arange(1, _NEUMANN_TERMS + 1)
    signs = np.where(k % 2 == 0, 1.0, -1.0)
    if order == 0:
        terms: Any = -4 * signs / k * np.cos(2 * k * angles[:, None])
    else:
        # The derivative of the series has -2 / (pi x) times J of order 0, which is here 1 less twice its neighbours of
        # even order (DLMF 10.12.4), each of them over x a sum of two of odd order.
        terms = (1 - 2 * signs) * (2 * k + 1) / (k * (k + 1)) * np.sin((2 * k + 1) * angles[:, None])
    return terms.sum(-1) * shares / math.pi


_OF_SECOND = (_first_kind_weights, _second_kind_weights)
_FIRST = [np.stack([np.sin(_quarter(_NODES)[0]), _first_kind_weights(n, _NODES)], 1) for n in (0, 1)]
_SECOND = [
    np.stack([np.sin(_quarter(2 * _NODES)[0]), *(f(n, 2 * _NODES) for f in _OF_SECOND)], 1) for n in (0, 1)
]
"""For each order the sine of each node and its weights: of the function of the first kind, and of the part of
that of the second kind that has no logarithm.
"""


def _means(order: int, x: Array, table: Array) -> list[Array]:
    """The weighted means of cos(x sin t), or for order 1 of sin(x sin t), over the nodes."""
    wave = np.sin if order else np.cos
    totals: list[Array] = [np.zeros_like(x) for _ in range(table.shape[1] - 1)]
    for sine, *weights in table.tolist():
        value = wave(x * sine)
        for at, weight in enumerate(weights):
            totals[at] += value * weight
    return totals


def _near_j(order: int, x: Array) -> Array:
    return _means(order, x, _FIRST[order])[0]


def _near_y(order: int, x: Array) -> Array:
    first, regular = _means(order, x, _SECOND[order])
    result: Array = regular + 2 / math.pi * (np.log(x / 2) + (_EULER - order / 2)) * first
    return result - 2 / (math.pi * x) if order else result


def _far(kind: str, order: int, x: Array) -> Array:
    """Hankel's expansion: sqrt(2 / (pi x)) times P cos(phase) - Q sin(phase), or P sin(phase) + Q cos(phase)."""
    even, odd = np.ones_like(x), np.zeros_like(x)
    term = np.ones_like(x)
    for k in range(1, _HANKEL_TERMS):
        term = term * ((4 * order**2 - (2 * k - 1) ** 2) / (8 * k)) / x
        sign = -1 if k % 4 in (2, 3) else 1
        (odd if k % 2 else even)[...] += sign * term
    # The phase is x - pi / 4 - order pi / 2; its sine and cosine by those of x, which are exact for any x.
    sine, cosine = np.sin(x), np.cos(x)
    if order:
        phase_cosine, phase_sine = sine - cosine, -(sine + cosine)
    else:
        phase_cosine, phase_sine = cosine + sine, sine - cosine
    wave = even * phase_cosine - odd * phase_sine if kind == "j" else even * phase_sine + odd * phase_cosine
    return wave / np.sqrt(math.pi * x)


def _first_kind(order: int, x: Array) -> Array:
    size = np.abs(x)
    pieces: list[Piece] = [
        (size <= _TURN, lambda v: _near_j(order, v)),
        (np.isfinite(size), lambda v: _far("j", order, v)),
    ]
    result = piecewise(size, pieces)
    return np.copysign(1.0, x) * result if order else result


def _second_kind(order: int, x: Array) -> Array:
    pieces: list[Piece] = [
        (x == 0, lambda v: np.full_like(v, -np.inf)),
        ((x > 0) & (x <= _TURN), lambda v: _near_y(order, v)),
        ((x > 0) & np.isfinite(x), lambda v: _far("y", order, v)),
    ]
    return piecewise(x, pieces)


def j0(x: Array) -> Array:
    """The Bessel function of the first kind of order 0; of an infinity, as torch's, NaN."""
    return _first_kind(0, x)


def j1(x: Array) -> Array:
    """The Bessel function of the first kind of order 1; of an infinity, as torch's, NaN."""
    return _first_kind(1, x)


def y0(x: Array) -> Array:
    """The Bessel function of the second kind of order 0; -inf of zero, NaN of negative numbers and of an infinity."""
    return _second_kind(0, x)


def y1(x: Array) -> Array:
    """The Bessel function of the second kind of order 1; -inf of zero, NaN of negative numbers and of an infinity."""
    return _second_kind(1, x)


def spherical_j0(x: Array) -> Array:
    """sin(x) / x, 1 of zero and 0 of an infinity."""
    pieces: list[Piece] = [(x == 0, np.ones_like), (np.isinf(x), np.zeros_like)]
    return piecewise(x, [*pieces, (~np.isnan(x), lambda v: np.sin(v) / v)])
