"""Observation of a compilation: the passes that run and the levels that are reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = ["Observer", "Observers"]


class Observer:
    """Told of what a compilation does; the methods of this class do nothing."""

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        """A pass is about to run."""

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        """A pass has run."""

    def reached(self, level: str, module: ModuleOp) -> None:
        """The passes of a level have run."""


class Observers(Observer):
    """Tells several observers, in order."""

    def __init__(self, observers: Sequence[Observer]):
        self._observers = tuple(observers)

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        for observer in self._observers:
            observer.before_pass(one, module)

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        for observer in self._observers:
            observer.after_pass(one, module)

    def reached(self, level: str, module: ModuleOp) -> None:
        for observer in self._observers:
            observer.reached(level, module)
