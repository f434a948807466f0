"""The backends that a verb of et-vm runs with: those that come with it, and those of files that `--load` names."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from et_schema.errors import ExecutorchError
from et_tools.exit_codes import UsageError
from et_tools.vm_kernels import usage_error

if TYPE_CHECKING:
    from et_vm.backend import BackendRegistry, NativeOptions

__all__ = ["added_backends", "chosen_backends", "chosen_native"]


def chosen_backends(args: argparse.Namespace) -> BackendRegistry:
    """The backends there are. Raises UsageError for a file whose backends cannot be had."""
    from et_vm.backend import BackendRegistry

    registry = BackendRegistry.standard()
    for place in args.load or ():
        from et_vm.backends.loading import backends_of
        from et_vm.kernels.loading import import_place

        try:
            for backend_id, backend in backends_of(import_place(place)).items():
                registry.register(backend_id, backend)
        except ExecutorchError as error:
            raise usage_error(place, error) from error
    return registry


def chosen_native(args: argparse.Namespace) -> NativeOptions:
    """Whether machine code may run, and on how many threads: as the command line says, or the environment.

    Raises UsageError for a number of threads that there cannot be.
    """
    from et_vm.backend import NativeOptions, number_of_threads, threads_of_environment

    try:
        if args.threads is None:
            return NativeOptions(args.native, threads_of_environment())
        return NativeOptions(args.native, number_of_threads(args.threads, f"--threads {args.threads}"))
    except ExecutorchError as error:
        raise UsageError(error.message) from error


def added_backends(places: list[str] | None) -> list[str]:
    """The ids of the backends of files, and of packages, none of which is made: it may need a machine that is not this
    one. Raises UsageError for a file whose backends cannot be had.
    """
    from et_schema.backend_packages import backend_packages

    ids = [*backend_packages().places("runtime")]
    for place in places or ():
        from et_vm.backends.loading import backend_classes
        from et_vm.kernels.loading import import_place

        try:
            ids += backend_classes(import_place(place))
        except ExecutorchError as error:
            raise usage_error(place, error) from error
    return ids
