"""Growth of compilation with the size of a program: no pass takes more than in proportion.

Counted are the calls of functions, in Python and in C, which depend on neither the machine nor its load. Time that
grows within one call, such as that of copying a list, is not seen.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Final

import pytest
from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from bench.growth import SEARCHES, SHAPES, compiled, exponent
from et_ir.driver.observer import Observer

SIZES: Final = (60, 240)
EXPONENT: Final = 1.15
SHARE: Final = 0.03
"""Least share of all calls, for the growth of a pass to count."""


class _Calls(Observer):
    """Counts calls by pass."""

    def __init__(self) -> None:
        self.by_pass: Counter[str] = Counter()
        self._calls = 0

    @override
    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        self._calls = 0
        sys.setprofile(self._event)

    @override
    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        sys.setprofile(None)
        self.by_pass[one.name] += self._calls

    def _event(self, frame: object, event: str, argument: object) -> None:
        self._calls += event in ("call", "c_call")


def _calls(shape: str, size: int, route: str) -> Counter[str]:
    calls = _Calls()
    compiled(shape, size, route, calls)
    return calls.by_pass


@pytest.mark.parametrize("route", ["et-vm", "xnnpack"])
@pytest.mark.parametrize("shape", SHAPES)
def test_passes(shape: str, route: str) -> None:
    _calls(shape, SIZES[0], route)  # what is computed once in a process
    small, large = (_calls(shape, size, route) for size in SIZES)
    exponents = {
        name: exponent(small[name], count, SIZES[1] / SIZES[0])
        for name, count in large.items()
        if count > SHARE * large.total() and name not in SEARCHES
    }
    # Programs of these sizes do not use up the budget of a search.
    assert {name: round(one, 2) for name, one in exponents.items() if one > EXPONENT} == {}
