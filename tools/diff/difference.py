"""One difference between two programs."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """`before` in the first program, `after` in the second; None where one has nothing like it."""

    where: str
    before: str | None
    after: str | None
