"""Finding kernels of one's own: in a file, in a module, or published by an installed package."""

from __future__ import annotations

from os import PathLike
from types import ModuleType

from et_schema.call_errors import called_as
from et_schema.errors import Error, ExecutorchError
from et_schema.user_code import LoadError as KernelLoadError
from et_schema.user_code import import_place
from et_vm.kernels.registry import KernelRegistry, Prepare
from et_vm.kernels.user import KernelsOf, kernels_of

__all__ = ["ENTRY_POINTS", "KernelLoadError", "import_place", "load_kernels", "published_kernel"]

ENTRY_POINTS = "et_vm.kernels"
"""The group of entry points by which packages publish kernels: the name is the operators' namespace, the value the
module that has them.
"""


@called_as("called as et_vm.load_kernels('kernels.py'), once for each file")
def load_kernels(place: str | PathLike[str] | ModuleType) -> KernelsOf:
    """The kernels of a Python file (`mykernels.py`), of a module (`package.kernels`), or of a module object.

    Raises LoadError, an ExecutorchError, for what cannot be imported, and
    ExecutorchError: RegistrationAlreadyRegistered for two kernels of one operator and key, NotFound without any.
    Raises TypeError for what names no module.
    """
    if isinstance(place, ModuleType):
        module = place
    elif isinstance(place, str) or hasattr(place, "__fspath__"):
        module = import_place(place)
    else:
        raise TypeError(
            f"kernels are those of a file, 'kernels.py', or of a module, not of a {type(place).__name__}"
        )
    found = kernels_of(module)
    if not found.declared:
        raise ExecutorchError(
            Error.NotFound,
            "it has no kernels",
            where=found.module,
            hint="decorate a function with @et_vm.kernel('mylib::scale.out'), the name of the operator",
        )
    return found


def published_kernel(registry: KernelRegistry, name: str) -> Prepare | None:
    """The kernel that an installed package publishes for an operator; the package's others are registered as well.

    Raises KernelLoadError where the package cannot be imported.
    """
    from importlib.metadata import entry_points

    namespace = name.partition("::")[0]
    for point in entry_points(group=ENTRY_POINTS, name=namespace):
        library = kernels_of(import_place(point.module))
        if name in library.names:
            library(registry)
            return registry.registered(name)
    return None
