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
    "value 0: Tensor-likes are not close",
    "stock's Python API gives unplanned outputs memory of its own, also those that are an input or state",
)

EXPECTED: Final[dict[tuple[str, str], Limit]] = {
    **{
        ("feature, strings", route): STRINGS
        for route in ("stock", "Os-stock", "callers-memory-stock", "xnnpack-stock")
    },
    **{
        (case, "callers-memory-stock"): OWN_OUTPUTS
        for case in ("state_that_does_not_change", "sizes, returned size", "feature, passing")
    },
}
"""By case and route. A case that does not fail as expected fails the test."""
