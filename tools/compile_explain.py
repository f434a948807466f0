"""Report of `et-compile --explain`: operator choices and pass savings."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any

from et_ir.analysis.choices import Choice, ExplainingContext
from et_ir.analysis.footprint import Footprint, footprint
from et_ir.driver.observer import Observer
from et_ir.locations import source_line
from et_tools.output import write_stdout
from et_tools.streams import line_width

if TYPE_CHECKING:
    from rich.table import Table
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = ["Explanation", "PassResult"]

WIDTH = 500
"""The most columns of the tables."""


@dataclass(frozen=True)
class PassResult:
    """State after a pass."""

    name: str
    footprint: Footprint


class Explanation(Observer):
    """Takes down what passes choose and save."""

    def __init__(self, target: str, level: str):
        self.target = target
        self.level = level
        self.context = ExplainingContext()
        self.steps: list[PassResult] = []
        self.others: dict[str, Any] = {}
        """Further facts for JSON, of other parts of the compilation."""
        self._latest: Footprint | None = None

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        if not self.steps:
            self._note("(as read)", module)

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        self._note(one.name, module)

    def _note(self, name: str, module: ModuleOp) -> None:
        found = footprint(module, self.target)
        if found != self._latest:
            self.steps.append(PassResult(name, found))
        self._latest = found

    def write(self, style: str, *, wide: bool = False) -> None:
        """Write it: `text` for people on standard error, `json` on standard output.

        A terminal's width limits the tables unless `wide`.
        """
        if style == "json":
            write_stdout(json.dumps(self.json(), indent=1) + "\n")
        else:
            self._print(sys.stderr, wide)

    def json(self) -> dict[str, Any]:
        """Choices and passes, and `others`, as JSON has them."""
        return {
            "target": self.target,
            "level": f"O{self.level}",
            "choices": [
                {
                    "op": choice.op,
                    "operands": choice.shapes,
                    "source": source_line(choice.location),
                    "candidates": [asdict(candidate) for candidate in choice.candidates],
                    "chosen": choice.chosen,
                    "measured": choice.measured,
                }
                for choice in self.context.choices
            ],
            "passes": [{"pass": step.name, **asdict(step.footprint)} for step in self.steps],
            **self.others,
        }

    def _print(self, stream: IO[str], wide: bool) -> None:
        from rich.console import Console

        tables = (self._choices(), self.passes())
        console = Console(file=stream, highlight=False)
        console.width = min(line_width(stream, wide=wide), WIDTH)
        for table in tables:
            with console.capture() as captured:
                console.print(table)
            print("\n".join(line.rstrip() for line in captured.get().splitlines()), file=stream)
            print(file=stream)

    def _choices(self) -> Table:
        """A row for each operator that there is a choice for; equal ones share one."""
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for column in ("op", "operands", "source", f"candidates on {self.target}", "chosen"):
            table.add_column(column, no_wrap=True)
        rows: Counter[tuple[str, ...]] = Counter()
        for choice in self.context.choices:
            rows[choice.op, choice.shapes, _place(choice), _candidates(choice), choice.chosen] += 1
        for (op, *cells), count in rows.items():
            table.add_row(op + (f" ×{count}" if count > 1 else ""), *cells)
        if not rows:
            table.add_row("-", "", "", "", "")
        return table

    def passes(self) -> Table:
        """A row for each pass that has changed something, and one for all."""
        from rich.table import Table

        table = Table("pass", box=None, pad_edge=False)
        for column in ("instructions", "", "buffers", "", "bytes peak", "", "bytes of constants", ""):
            table.add_column(column, justify="right")
        before: Footprint | None = None
        for step in self.steps:
            now = step.footprint
            cells: list[str] = []
            for name in ("instructions", "buffers", "memory", "constants"):
                value, earlier = getattr(now, name), None if before is None else getattr(before, name)
                cells += [_number(value), _difference(value, earlier)]
            table.add_row(step.name, *cells)
            before = now
        table.add_row("(in total)", *self._total())
        return table

    def _total(self) -> list[str]:
        """The total savings of all passes: the sums of the differences."""
        cells: list[str] = []
        for name in ("instructions", "buffers", "memory", "constants"):
            values: list[int | None] = [getattr(step.footprint, name) for step in self.steps]
            first = next((value for value in values if value is not None), None)
            cells += ["", _difference(values[-1] if values else None, first)]
        return cells


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _difference(value: int | None, before: int | None) -> str:
    return "" if value is None or before is None or value == before else f"{value - before:+,}"


def _place(choice: Choice) -> str:
    """The source line without its folders."""
    return source_line(choice.location).rpartition("/")[2]


def _candidates(choice: Choice) -> str:
    listed = ", ".join(f"{candidate.name} {_time(candidate.seconds)}" for candidate in choice.candidates)
    return f"{listed} (measured)" if choice.measured else listed


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
