"""Upper bounds that users give to sizes without one. With them, memory can be planned.

A size is named by export's symbol, `s77`, or by input and dimension, `x.0`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import torch
from torch.fx import Node
from torch.utils._sympy.value_ranges import ValueRanges

from et_ir.frontend.ranges import Ranges, ends, range_of

__all__ = ["BoundError", "DefaultBounds"]

_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.\d+)?")


class BoundError(ValueError):
    """A bound of what is no size without one, or that no size fits."""


class DefaultBounds:
    """Bounds by name, and which of them have been used."""

    def __init__(self, bounds: Mapping[str, int]):
        """Raises `BoundError` for names that are none, and bounds below 1."""
        for name, bound in bounds.items():
            if not _NAME.fullmatch(name) or bound < 1:
                raise BoundError(
                    f"default bound {name}={bound}: expected a symbol or input.dimension, and a size"
                )
        self._bounds = bounds
        self._unused = dict.fromkeys(bounds)
        self._known: dict[str, None] = {}

    def apply(self, inputs: Sequence[tuple[str, Node]], ranges: Ranges) -> Ranges:
        """The ranges of a method's symbols with the bounds. Raises `BoundError` for what no size can be."""
        sizes = dict(_sizes(inputs))
        symbols = {str(symbol): symbol for symbol in ranges}
        symbols |= {str(symbol): symbol for size in sizes.values() for symbol in size.free_symbols}
        self._known |= dict.fromkeys((*sizes, *symbols))
        found = dict(ranges)
        for name, bound in self._bounds.items():
            expression = sizes.get(name, symbols.get(name))
            if expression is None:
                continue
            self._unused.pop(name, None)
            if len(expression.free_symbols) != 1:
                raise BoundError(
                    f"default bound {name}={bound}: it is {expression}: bound these symbols instead"
                )
            (symbol,) = expression.free_symbols
            most = _largest(expression, symbol, bound)
            least, stated = ends(found.get(symbol))
            upper = most if stated is None else min(most, stated)
            if upper < (least or 0):
                smallest = ends(range_of(expression, found))[0]
                raise BoundError(f"default bound {name}={bound}: the program requires at least {smallest}")
            found[symbol] = ValueRanges(least or 0, upper)
        return found

    def check_used(self) -> None:
        """Raise `BoundError` if a name is that of no size."""
        if self._unused:
            unused = f"default bound for {', '.join(self._unused)}"
            if not self._known:
                raise BoundError(
                    f"{unused}: no size is unbounded: sizes are dynamic by the dynamic_shapes of torch.export"
                )
            raise BoundError(f"{unused}: the unbounded sizes are {', '.join(self._known)}")


def _sizes(inputs: Sequence[tuple[str, Node]]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, node in inputs:
        example: object = node.meta.get("val")
        if isinstance(example, torch.Tensor):
            for dim, size in enumerate(cast("tuple[Any, ...]", tuple(example.shape))):
                if type(size) is not int:
                    found.append((f"{name}.{dim}", size.node.expr))
    return found


def _largest(expression: Any, symbol: Any, bound: int) -> int:
    """The largest number of a symbol for which an expression that grows with it is within a bound."""
    if expression == symbol:
        return bound
    least, most = 0, bound
    while least < most:
        middle = (least + most + 1) // 2
        upper = ends(range_of(expression.subs(symbol, middle), {}))[1]
        if upper is not None and upper <= bound:
            least = middle
        else:
            most = middle - 1
    return least
