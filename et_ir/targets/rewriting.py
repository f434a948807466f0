"""Targets in passes: the `target` option of a pass, and patterns that ask a target."""

from __future__ import annotations

from typing import Protocol

from xdsl.pattern_rewriter import RewritePattern
from xdsl.utils.exceptions import PassFailedException

from et_ir.targets.lookup import find_target
from et_ir.targets.target import Target

__all__ = ["TargetPattern", "target_of"]


class _ForTarget(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def target(self) -> str: ...


def target_of(one: _ForTarget) -> Target:
    """The target that a pass is for. Raises `PassFailedException` if there is none of that name."""
    try:
        return find_target(one.target)
    except ValueError as error:
        raise PassFailedException(f"{one.name}: {error}") from None


class TargetPattern(RewritePattern):
    """A pattern that is made for a target."""

    def __init__(self, target: Target):
        self.target = target
