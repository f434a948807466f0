"""Where checks report what is wrong with a file: loading stops at the first problem, a report lists them all."""

from __future__ import annotations

from et_schema.errors import ExecutorchError


class Problems:
    """Takes problems. This one raises the first it is given, which is how files are loaded.

    A check reports a problem with :meth:`add` and goes on with what does not depend on the faulty part, or returns
    when everything after it would only repeat the fault in other words.
    """

    __slots__ = ()

    collects = False
    """Whether :meth:`add` returns."""

    def add(self, problem: ExecutorchError) -> None:
        """Report ``problem``."""
        raise problem


class ProblemList(Problems):
    """Keeps the problems, in the order in which they are found."""

    __slots__ = ("found",)

    collects = True

    def __init__(self) -> None:
        self.found: list[ExecutorchError] = []

    def add(self, problem: ExecutorchError) -> None:
        self.found.append(problem)


FIRST = Problems()
"""Raises the first problem."""
