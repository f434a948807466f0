"""The progress of a compilation: a line per stage."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

from et_ir.driver.observer import Observer
from et_tools.op_table import count_ops

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["Stages"]


class Stages(Observer):
    """Prints a line per stage on stderr: its name, its time, and how many ops the level has."""

    def __init__(self, quiet: bool):
        self.quiet = quiet
        self.last = time.perf_counter()
        self.levels: dict[str, Counter[str]] = {}

    def done(self, stage: str, note: str = "") -> None:
        """A stage has ended; its time is what has passed since the last."""
        now = time.perf_counter()
        if not self.quiet:
            print(f"{stage:<12} {(now - self.last) * 1e3:9.1f} ms  {note}".rstrip(), file=sys.stderr)
        self.last = time.perf_counter()

    def reached(self, level: str, module: ModuleOp) -> None:
        """The program is at a level."""
        self.levels[level] = count_ops(module)
        total = self.levels[level].total()
        self.done(level, f"{total} op" + ("" if total == 1 else "s"))
