"""Limit of rewrites, for bisection.

Where a program is wrong after many rewrites, the first that makes it so is found with ever closer limits: as with
LLVM's `-opt-bisect-limit`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.locations import place_of

__all__ = ["RewriteLimit", "current_limit", "limited"]


class RewriteLimit:
    """The number of rewrites that passes may apply, to find by bisection the one that makes a program wrong.

    Rewrites are those of patterns, and passes without patterns count as one where they change something. After the
    last no pattern is called, and no pass runs, but for those that a program cannot do without: what is not
    `is_optional`, and passes that say `is_required = True`. As LLVM's `-opt-bisect-limit`.
    """

    def __init__(self, limit: int, is_optional: Callable[[ModulePass], bool] = lambda _: True):
        """`limit` is -1 for as many as there are."""
        self.limit = limit
        self.is_optional = is_optional
        self.applied = 0
        self.last = ""
        self._pass: ModulePass | None = None

    @property
    def is_reached(self) -> bool:
        """Whether patterns must not be called now."""
        return self._pass is not None and self.applied == self.limit

    def count(self, what: str, op: Operation | None = None) -> None:
        """Count a rewrite, if it is one of those that are limited."""
        if self._pass is None:
            return
        self.applied += 1
        where = "" if op is None else f" on '{op.name}' at {place_of(op.location).source}"
        self.last = f"{what}{f' of the pass {self._pass.name!r}' if op is not None else ''}{where}"

    def run(self, one: ModulePass, ctx: Context, module: ModuleOp) -> None:
        """Run a pass within the limit."""
        if self._pass is not None or getattr(one, "is_required", False) or not self.is_optional(one):
            one.apply(ctx, module)
            return
        if self.applied == self.limit:
            return
        before, counted = module.clone(), self.applied
        self._pass = one
        try:
            one.apply(ctx, module)
            if self.applied == counted and not module.is_structurally_equivalent(before):
                self.count(f"the pass {one.name!r}")
        finally:
            self._pass = None

    def __str__(self) -> str:
        number = f"{self.applied} rewrite{'' if self.applied == 1 else 's'}"
        reached = "limit reached" if self.applied == self.limit else "no more to apply"
        return f"{number} applied, {reached}" + (f"; the last: {self.last}" if self.last else "")


_current: ContextVar[RewriteLimit | None] = ContextVar("rewrite_limit", default=None)


@contextmanager
def limited(limit: RewriteLimit | None) -> Generator[None]:
    """Hold what runs inside to a limit."""
    token = _current.set(limit)
    try:
        yield
    finally:
        _current.reset(token)


def current_limit() -> RewriteLimit | None:
    """The limit that holds now."""
    return _current.get()
