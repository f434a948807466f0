"""Expected failures of programs on routes: the message, and the limit that it documents."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["EXPECTED", "Limit"]


class Limit(NamedTuple):
    """A limit of a runtime or a backend: a pattern of the message, and what it is."""

    message: str
    limit: str


STRINGS: Final = Limit("Unsupported python type <class 'str'>", "stock's Python API takes no strings")
OWN_OUTPUTS: Final = Limit(
    "result 0: Tensor-likes are not close",
    "stock's Python API gives unplanned outputs memory of its own, also those that are an input or state",
)

BY_FACTORS: Final = Limit(
    "result 0: Tensor-likes are not close",
    "stock's kernel goes by a factor also where torch goes by sizes, which are not known",
)

NO_CUBIC_FILTER: Final = Limit("'aten::_upsample_bicubic2d_aa.out'", "stock has no kernel for it")

_ON_STOCK: Final = ("stock", "Os-stock", "callers-memory-stock", "xnnpack-stock")

EXPECTED: Final[dict[tuple[str, str], Limit]] = {
    **{("sizes, resize, nearest 2d", route): BY_FACTORS for route in _ON_STOCK},
    **{
        (f"resize, bicubic 2d, filtered, {given}", route): NO_CUBIC_FILTER
        for given in ("sizes", "factors")
        for route in ("aten", "portable-poisoned", *_ON_STOCK)
    },
    **{("feature, strings", route): STRINGS for route in _ON_STOCK},
    **{
        (case, "callers-memory-stock"): OWN_OUTPUTS
        for case in ("state_that_does_not_change", "sizes, returned size", "feature, passing")
    },
}
"""By case and route. A case that does not fail as expected fails the test."""
