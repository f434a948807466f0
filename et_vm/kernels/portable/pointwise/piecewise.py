"""Functions that are computed in one way here and in another there, each way only on the elements it is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from et_vm.values import Array

Piece: TypeAlias = "tuple[Array, Callable[[Array], Array]]"
"""Where it holds, as a mask, and the function of the elements there as a vector."""


def piecewise(x: Array, pieces: Sequence[Piece], otherwise: float = float("nan")) -> Array:
    """The first of ``pieces`` that holds, for each element of ``x``; ``otherwise`` where none does.

    Allocates the result, a mask, and for each piece its elements and what its function does.
    """
    result = np.full_like(x, otherwise)
    rest: Array = np.ones(x.shape, np.bool_)
    for mask, function in pieces:
        mine = rest & mask
        if mine.any():
            result[mine] = function(x[mine])
        rest &= ~mask
    return result
