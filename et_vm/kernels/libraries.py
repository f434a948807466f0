"""The kernel libraries that come with the VM, by name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from et_schema.distribution import installation
from et_schema.errors import Error, ExecutorchError
from et_vm.kernels.registry import KernelRegistry

if TYPE_CHECKING:
    from et_vm.kernels.registry import KernelLibrary, Prepare

LIBRARIES: dict[str, str] = {
    "portable": "et_vm.kernels.portable",
    "aten": "et_vm.kernels.aten",
}
"""Module of each library; it has a function `register(registry)`."""


def load_library(name: str, kernels: Iterable[KernelLibrary] = ()) -> KernelRegistry:
    """A new registry with the kernels of one library, those of `kernels`, and those that installed packages publish
    for operators of their own.

    Raises ExecutorchError: NotFound for an unknown name, NotSupported when what the library builds on is
    not installed.
    """
    module = LIBRARIES.get(name)
    if module is None:
        raise ExecutorchError(
            Error.NotFound,
            f"unknown kernel library {name!r}",
            hint=f"the libraries are {', '.join(LIBRARIES)}",
        )
    registry = KernelRegistry()
    try:
        import_module(module).register(registry)
    except ModuleNotFoundError as error:
        # The runtime is also installed alone, without the libraries that build on packages of the compiler.
        if error.name is None or (error.name != module and error.name.partition(".")[0] == "et_vm"):
            raise
        raise ExecutorchError(
            Error.NotSupported,
            f"the {name} kernels need the package {error.name!r}, which is not installed",
            hint=f"{installation('compiler')}, or use the portable kernels",
        ) from error
    for add in kernels:
        add(registry)
    registry.finders.append(partial(_published, registry))
    return registry


def _published(registry: KernelRegistry, name: str) -> Prepare | None:
    # Looking through the installed packages takes longer than loading a small model: only where a kernel is missing.
    from et_vm.kernels.loading import published_kernel

    return published_kernel(registry, name)
