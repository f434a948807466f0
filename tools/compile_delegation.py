"""Backends of an et-compile command line, and reports of undelegated ops."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from et_schema.user_code import user_place
from et_tools.compile_parser import LEVELS
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.messages import print_diagnostics, running_command
from et_tools.output import write_stdout

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from et_ir.backends import KeptOperators
    from et_ir.delegation.why_not import DelegationReport
    from et_ir.driver.delegate import DelegatePass

__all__ = ["Delegation"]


class Delegation:
    """The backends of a command line. Does nothing, and loads nothing, where there are none."""

    def __init__(self, args: argparse.Namespace):
        """Raises `UsageError`, among others for backends that there are not, and `BackendError` for one that fails."""
        self._args = args
        self._kept: KeptOperators | None = None
        self._delegate: DelegatePass | None = None
        if args.backend:
            from et_ir.delegation.backends_by_name import split_backends

            args.backend = [one for text in args.backend for one in split_backends(text)]
        if args.choose == "fastest" and len(args.backend) < 2:
            raise UsageError("--choose fastest needs several backends, such as --backend native,openvino")
        if args.tune and not any(text.partition(":")[0] == "native" for text in args.backend):
            raise UsageError("--tune needs --backend native")
        if args.why_not_delegated and not args.backend:
            raise UsageError("--why-not-delegated needs --backend NAME")
        if args.why_not_delegated and LEVELS.index(args.emit) < LEVELS.index("backend"):
            raise UsageError(f"--why-not-delegated: --emit {args.emit} stops before delegation")
        if not args.backend:
            return
        from et_ir.backends import KeptOperators, make_partitioner
        from et_ir.delegation.errors import BackendError, MissingBackend
        from et_ir.driver.delegate import DelegatePass

        backends = _tuned(args.backend) if args.tune else args.backend
        try:
            partitioners = [make_partitioner(text) for text in backends]
        except (MissingBackend, BackendError) as error:
            if error.__cause__ is not None and user_place(error.__cause__):
                raise  # of the backend's code, not of the command line
            raise UsageError(f"argument --backend: {error}", ExitCode(error.exit_code)) from None
        try:
            self._kept = KeptOperators.of(partitioners)
        except ValueError as error:
            raise UsageError(f"--backend: {error}") from None
        self._delegate = DelegatePass(partitioners, self._kept, backends, args.choose, strict=args.strict)

    @property
    def backend_ids(self) -> dict[str, str]:
        """The ids that files give the backends, by the names of these."""
        from et_ir.delegation.backends_by_name import parse_backend

        found = [parse_backend(text)[0] for text in self._args.backend]
        return {backend.name: backend.details.backend_id for backend in found}

    @property
    def kept(self) -> KeptOperators | None:
        """Operators that backends take whole; None without backends."""
        return self._kept

    @property
    def kept_operators(self) -> list[str]:
        """The operators that backends want whole."""
        return [] if self._kept is None else self._kept.names

    @property
    def preserving(self) -> list[ModulePass]:
        """The passes that decompose those of the operators kept that no backend wants kept."""
        if self._kept is None or not self._kept.names:
            return []
        from et_ir.driver.kept import DecomposeRefusedPass

        return [DecomposeRefusedPass(self._kept)]

    @property
    def passes(self) -> list[ModulePass]:
        """The passes that delegate; partitions of a text are compiled where no backend is asked for more."""
        if self._delegate is not None:
            return [self._delegate]
        from et_ir.passes.backend.lower_partitions import LowerPartitionsPass

        return [LowerPartitionsPass()]

    def check(self, reached: str) -> None:
        """Raises `UsageError` for a program that is past the level of backends."""
        if self._delegate is not None and LEVELS.index(reached) > LEVELS.index("backend"):
            raise UsageError(
                f"--backend: {self._args.model} is at the {reached} level already, past delegation"
            )

    @property
    def latest(self) -> DelegationReport | None:
        """The operators that were delegated, and why the rest was not; None without backends."""
        return self._delegate.reports[-1] if self._delegate is not None and self._delegate.reports else None

    def report(self) -> None:
        """Say what is left out, on stdout, or on stderr where the program goes to stdout; failures always on stderr."""
        form = self._args.why_not_delegated
        report = self.latest
        if report is None:
            return
        if not self._args.quiet:
            print_diagnostics(
                running_command(), [replace(one, severity="warning") for one in report.failures]
            )
        if form is None:
            return
        text = json.dumps(report.json(), indent=1) + "\n" if form == "json" else report.text()
        if self._args.output in (None, "-"):
            sys.stderr.write(text)
        else:
            write_stdout(text)


def _tuned(backends: list[str]) -> list[str]:
    """The backends, the native one with the option `tune` unless it is given."""
    found: list[str] = []
    for text in backends:
        name, _, options = text.partition(":")
        given = [part for part in options.split(",") if part]
        if name == "native" and not any(part.startswith("tune=") for part in given):
            found.append(f"{name}:{','.join([*given, 'tune=1'])}")
        else:
            found.append(text)
    return found
