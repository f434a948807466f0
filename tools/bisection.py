"""Bisection of a compilation: the pass, and the rewrite of it, that make a program's results bad."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.utils.exceptions import PassFailedException

from et_ir.driver.observer import Observer
from et_ir.pass_application import apply_pass
from et_ir.rewrite_limit import RewriteLimit, limited
from et_schema.diagnostics import Report
from et_schema.errors import ExecutorchError
from et_tools.check_passes import Deviation, deviations, run_methods
from et_tools.comparison.matching import Pair, first_difference
from et_tools.exit_codes import UsageError
from et_tools.level_runs import LevelRunner, ModuleRun
from et_tools.module_changes import OpChange, changed_ops
from et_vm.backend import NativeRefused

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = ["Bisection", "Criterion", "Finding", "PassHistory"]

_MEASURES = {"max": "max_abs", "relative": "relative", "mse": "mse", "sqnr": "sqnr", "cosine": "cosine"}
_COMPARISON = re.compile(r"(\w+)\s*(<=|>=|<|>)\s*([-+.\w]+)")
_TESTS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: not a <= b,  # a gap that is no number is bad
    ">=": lambda a, b: not a < b,
    "<": lambda a, b: not a >= b,
    "<=": lambda a, b: not a > b,
}


class Criterion:
    """The condition of a bad result: `max>1e-3`, `sqnr<30`, several with commas between them, of which one is enough;
    without any, a relative gap beyond what rounding explains.
    """

    def __init__(self, text: str | None):
        """Raises `UsageError` for what is no criterion."""
        self._tests: list[tuple[str, Callable[[float, float], bool], float]] = []
        for part in (text or "").split(",") if text else ():
            match = _COMPARISON.fullmatch(part.strip())
            try:
                measure, sign, number = match.groups() if match else ("", "", "")
                self._tests.append((_MEASURES[measure], _TESTS[sign], float(number)))
            except (KeyError, ValueError):
                raise UsageError(
                    f"--bad {part.strip()!r}: expected MEASURE>NUMBER or MEASURE<NUMBER, where MEASURE is one of "
                    f"{', '.join(_MEASURES)}"
                ) from None

    def is_bad(self, deviation: Deviation) -> bool:
        """Whether a result is bad."""
        if not self._tests:
            return deviation.exceeds
        return any(test(getattr(deviation.gap, name), bound) for name, test, bound in self._tests)


class PassHistory(Observer):
    """Keeps the program before the first pass, and after each that changed it."""

    def __init__(self) -> None:
        self.states: list[ModuleOp] = []
        self.passes: list[ModulePass] = []
        """The pass that led to each state but the first."""
        self.ran = 0
        """How many passes ran."""

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        if not self.states:
            self.states.append(module.clone())

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        self.ran += 1
        if not module.is_structurally_equivalent(self.states[-1]):
            self.states.append(module.clone())
            self.passes.append(one)


@dataclass(frozen=True)
class Finding:
    """The pass that makes results bad, and within it the rewrite."""

    pass_name: str
    position: int
    """Its number among the passes that change the program, from 1."""
    rewrite: int
    """The number of the rewrite among those of the pass, from 1; 0 where it is not divided into rewrites."""
    rewrites: int
    """How many rewrites the pass applies."""
    what: str
    """The pattern, the op and its source line; empty where the pass is not divided."""
    why: str
    """The result that is bad, and its gap, or the error."""
    first: Pair | None
    """The first intermediate value that differs."""
    changes: Sequence[OpChange]
    """The ops that the rewrite, or the pass, changed."""


class Bisection:
    """Search for the first state of a history that is bad, then for the first rewrite."""

    def __init__(
        self,
        history: PassHistory,
        inputs: Mapping[str, Sequence[Any]],
        runner: LevelRunner,
        criterion: Criterion,
        report: Callable[[str], None] = lambda _: None,
    ):
        """`report` is told of each step. Raises what running the first state raises, and `find` raises `NativeRefused`
        for a state with machine code that may not run.
        """
        self._history = history
        self._inputs = inputs
        self._runner = runner
        self._criterion = criterion
        self._report = report
        self._reference = self._run(history.states[0])

    def find(self) -> Finding | None:
        """The pass and the rewrite, or `None` if the last state is good."""
        states = self._history.states
        if len(states) == 1 or not self._why(states[-1]):
            return None
        last = first_true(lambda at: bool(self._why(states[at])), len(states) - 1, self._told("pass"))
        one, before = self._history.passes[last - 1], states[last - 1]
        _, total, _ = self._limited(one, before, -1)
        number, what, after = 0, "", states[last]
        if total > 1:
            # Its last state is bad: that of all rewrites is not run again.
            number = first_true(
                lambda at: bool(self._why(self._limited(one, before, at)[0])), total, self._told("rewrite")
            )
        elif total == 1:
            number = 1
        if number:
            after, _, what = self._limited(one, before, number)
            before = self._limited(one, before, number - 1)[0]
        why = self._why(after)
        return Finding(
            one.name, last, number, total, what, why, self._first(before, after), changed_ops(before, after)
        )

    def _told(self, what: str) -> Callable[[int, bool], None]:
        return lambda at, bad: self._report(f"{what} {at}: {'bad' if bad else 'good'}")

    def _run(self, module: ModuleOp) -> dict[str, ModuleRun]:
        return run_methods(self._runner, module, self._inputs)

    def _why(self, module: ModuleOp) -> str:
        """Why a program is bad; empty if it is good."""
        try:
            runs = self._run(module)
        except NativeRefused:
            raise
        except (Report, PassFailedException, ExecutorchError) as error:
            return f"the program fails: {(str(error).splitlines() or [''])[-1].strip()}"
        for method, run in runs.items():
            for one in deviations(method, run, self._reference[method]):
                if self._criterion.is_bad(one):
                    return str(one)
        return ""

    def _limited(self, one: ModulePass, before: ModuleOp, count: int) -> tuple[ModuleOp, int, str]:
        """The program after the first rewrites of a pass, their number, and the last of them."""
        module, limit = before.clone(), RewriteLimit(count)
        with limited(limit):
            apply_pass(one, Context(), module, verify=False)
        return module, limit.applied, limit.last

    def _first(self, before: ModuleOp, after: ModuleOp) -> Pair | None:
        for method, given in self._inputs.items():
            try:
                known = self._runner.run(before, given, method, values=True)
                now = self._runner.run(after, given, method, values=True)
            except (Report, PassFailedException, ExecutorchError):
                return None
            pair = first_difference(now.values, known.values)
            if pair is not None:
                return pair
        return None


def first_true(
    test: Callable[[int], bool], last: int, tell: Callable[[int, bool], None] = lambda *_: None
) -> int:
    """The least number from 1 to `last` for which a monotone test holds; it is known to hold for `last`."""
    low, high = 1, last
    while low < high:
        middle = (low + high) // 2
        found = test(middle)
        tell(middle, found)
        if found:
            high = middle
        else:
            low = middle + 1
    return low
