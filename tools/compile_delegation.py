"""What et-compile delegates to backends, and what it says of the rest."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from et_tools.compile_options import LEVELS
from et_tools.exit_codes import UsageError
from et_tools.output import write_stdout

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from et_ir.backends import DelegationReport, KeptOperators, Partitioner

__all__ = ["Delegation"]


class Delegation:
    """The backends of a command line. Does nothing, and loads nothing, where there are none."""

    def __init__(self, args: argparse.Namespace):
        """Raises `UsageError`, `MissingBackend`, and `BackendError` for what a backend is told wrongly."""
        self._args = args
        self._partitioners: list[Partitioner] = []
        self._kept: KeptOperators | None = None
        self._report: DelegationReport | None = None
        if args.why_not_delegated and not args.backend:
            raise UsageError("--why-not-delegated: no backend is asked, --backend NAME names one")
        if args.why_not_delegated and LEVELS.index(args.emit) < LEVELS.index("backend"):
            raise UsageError(f"--why-not-delegated: nothing is delegated up to the level {args.emit}")
        if not args.backend:
            return
        from et_ir.backends import KeptOperators, make_partitioner

        self._partitioners = [make_partitioner(text) for text in args.backend]
        try:
            self._kept = KeptOperators.of(self._partitioners)
        except ValueError as error:
            raise UsageError(f"--backend: {error}") from None

    @property
    def kept_operators(self) -> list[str]:
        """The operators that backends want whole."""
        return [] if self._kept is None else self._kept.names

    def check(self, reached: str) -> None:
        """Raises `UsageError` for a program that is past the level of backends."""
        if self._partitioners and LEVELS.index(reached) > LEVELS.index("backend"):
            raise UsageError(
                f"--backend: {self._args.model} is at the level {reached}, past that of backends"
            )

    def before(self, level: str, module: ModuleOp) -> None:
        """What is to be done before a level's passes. Raises what `delegate_module` raises."""
        if level == "core-aten" and self._kept is not None:
            self._kept.decompose_refused(module)
        if level == "backend" and self._partitioners:
            from et_ir.backends import delegate_module

            self._report = delegate_module(module, self._partitioners, kept=self._kept)
        elif level == "backend" and any(op.name == "backend.partition" for op in module.walk()):
            from et_ir.backends import details_of, lower_partitions

            lower_partitions(module, details_of)

    def report(self) -> None:
        """Say what is left out, on stdout, or on stderr where the program goes to stdout."""
        form = self._args.why_not_delegated
        if form is None or self._report is None:
            return
        text = json.dumps(self._report.json(), indent=1) + "\n" if form == "json" else self._report.text()
        if self._args.output in (None, "-"):
            sys.stderr.write(text)
        else:
            write_stdout(text)
