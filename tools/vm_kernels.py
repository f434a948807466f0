"""The kernels that a verb of et-vm runs with: those of a library, and of the files that `--load` names."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from et_schema.errors import ExecutorchError
from et_tools.exit_codes import UsageError
from et_tools.messages import print_message

if TYPE_CHECKING:
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.kernels.user import KernelsOf

__all__ = ["LOAD", "chosen_kernels", "load_files", "published_operators", "usage_error"]

LOAD: dict[str, Any] = {
    "action": "append",
    "metavar": "FILE",
    "help": "Python file or module that defines kernels (@et_vm.kernel) or backends; repeatable",
}
"""The option `--load`."""


def load_files(places: list[str] | None) -> list[KernelsOf]:
    """The kernels of files and modules. What these print goes to stderr.

    Raises UsageError for one that cannot be had.
    """
    if not places:
        return []
    from et_vm.kernels.loading import import_place
    from et_vm.kernels.user import kernels_of

    found: list[KernelsOf] = []
    for place in places:
        try:
            with redirect_stdout(sys.stderr):
                found.append(kernels_of(import_place(place)))  # or what else they define
        except ExecutorchError as error:
            raise usage_error(place, error) from error
    return found


def published_operators(command: str) -> list[str]:
    """The operators that installed packages publish kernels for. A package that cannot be imported is a warning."""
    from importlib.metadata import entry_points

    from et_vm.kernels.loading import ENTRY_POINTS, load_kernels

    names: list[str] = []
    for point in entry_points(group=ENTRY_POINTS):
        try:
            with redirect_stdout(sys.stderr):
                names += load_kernels(point.module).names
        except ExecutorchError as error:
            text = f"the kernels of '{point.name}' cannot be loaded from {point.value}: {error.message}"
            print_message(command, text, "warning")
    return names


def chosen_kernels(args: argparse.Namespace, library: str) -> KernelRegistry:
    """A library's kernels and those of `args.load`. Raises UsageError, and what loading the library raises."""
    from et_vm.kernels.libraries import load_library

    added = load_files(args.load)
    registry = load_library(library)
    for place, kernels in zip(args.load or (), added, strict=True):
        if not kernels.names and library == "portable" and not _has_backends(place):
            raise UsageError(
                f"--load {place}: defines neither a kernel nor a backend: decorate functions with "
                '@et_vm.kernel("mylib::scale.out"), or subclass et_vm.Backend with a backend_id'
            )
        try:
            kernels(registry)
        except ExecutorchError as error:
            raise usage_error(place, error) from error
    return registry


def _has_backends(place: str) -> bool:
    from et_vm.backends.loading import backends_of
    from et_vm.kernels.loading import import_place

    try:
        return bool(backends_of(import_place(place)))
    except ExecutorchError as error:
        raise usage_error(place, error) from error


def usage_error(place: str, error: ExecutorchError) -> UsageError:
    """The error of an option `--load` whose file cannot be used."""
    where = error.where or place
    told = where if where.startswith(place) else f"{place}: {where}"
    return UsageError(f"--load {told}: {error.message}" + (f"; {error.hint}" if error.hint else ""))
