"""The target of an et-compile command line: the one that is given, or the one that the backends need."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from et_backends.freestanding.compiler.microcontrollers import processor_hint
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_ir.targets.lookup import (
    DEFAULT,
    TARGETS,
    TargetError,
    find_target,
    missing_backend,
    target_names,
    unknown_target,
)
from et_tools.compile_options import extra_backends
from et_tools.compile_parser import LEVELS
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.messages import print_message, running_command

__all__ = ["check_target", "choose_target"]


def check_target(args: argparse.Namespace) -> None:
    """Raise `UsageError` for a target that is none, naming runtimes and processors. Those of files have been loaded."""
    if args.target is None:
        return
    try:
        find_target(args.target)
    except TargetError as error:
        names = target_names()
        text = str(error)
        if text == unknown_target(args.target, names):
            hint = processor_hint(args.target)
            text = unknown_target(args.target, names, list(FREESTANDING_TARGETS), hint)
            text += _backend_hint(args.target)
        raise UsageError(f"argument --target: {text}") from error


def _backend_hint(name: str) -> str:
    """The option to give in place of `--target` for a name that is one of a backend."""
    from et_ir.delegation.backends_by_name import backend_names

    if name.endswith(".py"):
        return f"; of a target in a file, give its name there: {name}:ATTRIBUTE"
    return f"; '{name}' is a backend: --backend {name}" if name in backend_names() else ""


def choose_target(args: argparse.Namespace, backends: Mapping[str, str]) -> None:
    """Set the target that is not given: the default one, or another that comes with the compiler where only that has
    the backends. These are ids by name.

    Raises `UsageError` for a program that will not link, as its target has none of these backends.
    """
    given = args.target is not None
    if not given:
        args.target = next((name for name in TARGETS if not _missing(args, name, backends)), DEFAULT)
    if LEVELS.index(args.emit) < LEVELS.index("executorch") or args.stop_after is not None:
        return
    missing = _missing(args, args.target, backends)
    if missing:
        target = find_target(args.target)
        there = target.backends.union(extra_backends(args, args.target))
        told = [(name, *missing_backend(backends[name], target, there)) for name in missing]
        text = "\n".join(f"--backend {name}: {message}\n  fix: {fix}" for name, message, fix in told)
        raise UsageError(text, ExitCode.MISSING_OPERATOR)
    if args.target != DEFAULT and not given and not args.quiet:
        lacking = ", ".join(_missing(args, DEFAULT, backends))
        text = f"--target is {args.target}: {DEFAULT}, the default, does not have the backend {lacking}"
        print_message(running_command(), text, "note")


def _missing(args: argparse.Namespace, target: str, backends: Mapping[str, str]) -> list[str]:
    """The names of the backends that are neither those of a target nor what its user adds."""
    there = find_target(target).backends.union(extra_backends(args, target))
    return [name for name, backend in backends.items() if backend not in there]
