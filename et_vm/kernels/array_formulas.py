"""Operators by the formulas of the library, in numpy.

Kernels that are not tuned by hand are made of it, and tests of those that are compare with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from et_ops.formulas import Builder, Literal
from et_vm.kernels.portable.special.error_function import erf, temporaries_of_erf
from et_vm.values import Array

__all__ = ["ArrayBuilder", "error_function"]


def error_function(x: Array) -> Array:
    """The error function of floats of 32 or 64 bits."""
    source = np.ascontiguousarray(x)
    out = np.empty_like(source)
    temporaries = [np.empty(source.shape, dtype) for dtype in temporaries_of_erf(x.dtype)]
    for function, arguments in erf(source, out, temporaries):
        function(*arguments)
    return out


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "add": np.add,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "div": np.divide,
    "eq": np.equal,
    "erf": error_function,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "ge": np.greater_equal,
    "gt": np.greater,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "le": np.less_equal,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "lt": np.less,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": np.negative,
    "pow": np.power,
    "round": np.rint,
    "select": np.where,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "sub": np.subtract,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
"""Functions of numpy by the operator's name."""


class ArrayBuilder(Builder[Array]):
    """Arithmetic of arrays of floats of one type, 32 or 64 bits. Without some of its functions, where these are named:
    then they are made of the others, as where a back end lacks them.
    """

    def __init__(self, without: Sequence[str] = ()):
        super().__init__()
        self._without = without

    def number(self, value: float, like: Array) -> Array:
        return np.array(value, like.dtype)

    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., Array] | None:
        function = None if name in self._without else FUNCTIONS.get(name)
        # A number of numpy's would count as a literal.
        return None if function is None else lambda *arrays: np.asarray(function(*arrays))
