"""Observation of a compilation: the passes that run and the levels that are reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = ["Observer", "Observers"]


class Observer:
    """Told of what a compilation does, as `observer` of a configuration; the methods of this class do nothing."""

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        """The pass `one` is about to run on `module`."""

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        """The pass `one` has run on `module`, which must not be changed."""

    def failed_pass(self, one: ModulePass, module: ModuleOp) -> None:
        """The pass `one` has raised; `module` is as it left it."""

    def reached(self, level: str, module: ModuleOp) -> None:
        """The passes of a level (`aten`, `core-aten`, `edge`, `backend`, `executorch`) have run."""


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

    def failed_pass(self, one: ModulePass, module: ModuleOp) -> None:
        for observer in self._observers:
            observer.failed_pass(one, module)

    def reached(self, level: str, module: ModuleOp) -> None:
        for observer in self._observers:
            observer.reached(level, module)
