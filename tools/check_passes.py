"""Checking that passes keep what a program computes: `et-compile --check-passes`.

After each pass that changes the program, every method runs on the same inputs as before it: by the reference evaluator,
and at the executorch level by et-vm, with dead memory overwritten. The first pass after which results differ by more
than the bound ends the compilation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from et_ir.driver.observer import Observer
from et_schema.diagnostics import Diagnostic, Report
from et_schema.errors import ExecutorchError
from et_tools.comparison.matching import Pair, first_difference
from et_tools.level_runs import LevelRunner, ModuleRun, method_names
from et_tools.module_changes import changed_ops
from et_vm.backend import NativeRefused
from et_vm.devtools.gaps import Gap, bound_for, gap_between

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = [
    "Deviation",
    "PassChangesResults",
    "PassChecker",
    "deviations",
    "largest_deviation",
    "run_methods",
]

SHOWN = 6
"""Changed ops that a message names."""

Inputs = Mapping[str, Sequence[Any]]
"""Flat inputs by method."""


class PassChangesResults(Report):
    """A pass makes the program compute something else."""

    exit_code = 1


@dataclass(frozen=True)
class Deviation:
    """A result that is not what it was."""

    method: str
    what: str
    """`output 0`, `input 1` or `buffer cache`."""
    gap: Gap
    bound: float
    """The relative gap that is allowed."""

    @property
    def exceeds(self) -> bool:
        """Whether the gap is beyond the bound."""
        return self.gap.exceeds(self.bound)

    def __str__(self) -> str:
        return f"{self.what} of {self.method}: {self.gap} (bound: relative {self.bound:.3g})"


def run_methods(
    runner: LevelRunner, module: ModuleOp, inputs: Inputs, *, values: bool = False
) -> dict[str, ModuleRun]:
    """Runs of the methods that there are inputs for. Raises what `LevelRunner.run` does."""
    there = set(method_names(module))
    return {
        name: runner.run(module, given, name, values=values)
        for name, given in inputs.items()
        if name in there
    }


def deviations(method: str, run: ModuleRun, before: ModuleRun, bound: float | None = None) -> list[Deviation]:
    """The gap of each result. Buffers that only one side has do not count: passes fold state that nothing writes."""
    known, ours = before.results(), run.results()
    found: list[Deviation] = []
    for what, value in ours.items():
        if what in known:
            found.append(
                Deviation(method, what, gap_between(value, known[what]), _allowed(known[what], bound))
            )
        elif not what.startswith("buffer"):
            found.append(Deviation(method, what, _missing("is new"), 0.0))
    gone = [what for what in known if what not in ours and not what.startswith("buffer")]
    return found + [Deviation(method, what, _missing("is gone"), 0.0) for what in gone]


def _missing(note: str) -> Gap:
    return Gap(np.inf, np.inf, np.inf, -np.inf, np.nan, note=note)


def largest_deviation(
    runs: Mapping[str, ModuleRun], before: Mapping[str, ModuleRun], bound: float | None = None
) -> Deviation | None:
    """The largest gap beyond its bound of all methods, if there is one."""
    found = [one for method, run in runs.items() for one in deviations(method, run, before[method], bound)]
    return max((one for one in found if one.exceeds), key=lambda one: one.gap.relative, default=None)


def _allowed(reference: Any, bound: float | None) -> float:
    return bound_for(np.asarray(reference).dtype, bound)


class PassChecker(Observer):
    """Runs the program after each pass that changes it, and raises `PassChangesResults`."""

    def __init__(self, inputs: Inputs, runner: LevelRunner, bound: float | None = None):
        self.checked = 0
        """Passes that changed the program and kept its results."""
        self._inputs = inputs
        self._runner = runner
        self._bound = bound
        self._before: ModuleOp | None = None
        self._runs: dict[str, ModuleRun] = {}

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        if self._before is None:
            self._before = module.clone()
            self._runs = run_methods(self._runner, module, self._inputs)

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        assert self._before is not None
        if one.name.startswith("verify-") or module.is_structurally_equivalent(self._before):
            return
        after = module.clone()
        try:
            runs = run_methods(self._runner, after, self._inputs)
        except NativeRefused:
            raise
        except (Report, ExecutorchError) as error:
            raise self._report(one, after, f"after it the program fails: {_first_line(error)}") from error
        worst = largest_deviation(runs, self._runs, self._bound)
        if worst is not None:
            raise self._report(one, after, str(worst), worst.method)
        self.checked += 1
        self._before, self._runs = after, runs

    def _report(self, one: ModulePass, after: ModuleOp, why: str, method: str = "") -> PassChangesResults:
        assert self._before is not None
        notes: list[Diagnostic] = []
        first = self._first_value(after, method) if method else None
        if first is not None:
            where = f"'{first.value.operator}' at {first.value.place.source}"
            text = f"the first value that differs: {where}: {first.gap}"
            notes.append(Diagnostic(text, severity="note"))
        changes = changed_ops(self._before, after)
        shown = [Diagnostic(str(change), severity="note") for change in changes[:SHOWN]]
        if len(changes) > SHOWN:
            shown.append(Diagnostic(f"… and {len(changes) - SHOWN} more changed ops", severity="note"))
        message = f"the pass '{one.name}' changes results: {why}"
        return PassChangesResults("a pass changes results", [Diagnostic(message, notes=(*notes, *shown))])

    def _first_value(self, after: ModuleOp, method: str) -> Pair | None:
        assert self._before is not None
        given = self._inputs[method]
        before = self._runner.run(self._before, given, method, values=True)
        now = self._runner.run(after, given, method, values=True)
        return first_difference(now.values, before.values, self._bound)


def _first_line(error: Exception) -> str:
    if isinstance(error, Report):
        return str(error.diagnostics[0])
    return (str(error).splitlines() or [type(error).__name__])[0]
