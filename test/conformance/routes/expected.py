"""Expected failures of programs on routes: the message, and the limit that it documents."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["EXPECTED", "Limit"]


class Limit(NamedTuple):
    """A limit of a runtime or a backend: a pattern of the message, and what it is."""

    message: str
    limit: str


EXPECTED: Final[dict[tuple[str, str], Limit]] = {}
"""By case and route. A case that does not fail as expected fails the test."""
