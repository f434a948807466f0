"""Backend packages: the parts of a backend, and their discovery.

A backend is a compiler of partitions, a runtime of the blobs that it makes, a reader of these for `et-vm info`,
dialects and passes. A `BackendPackage` names them. A distribution publishes one under the entry point group
`executorch_ir.backends`: its name is that of `et-compile --backend`, its value the place of the `BackendPackage`, as
`my_chip:PACKAGE`. The backends of this project are published in the same way.

The module of a `BackendPackage` is imported to look at any backend, so it should import little: parts are named as
`module:attribute` and imported when they are needed. Neither torch nor xDSL is there where only programs are run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from et_schema.errors import Error, ExecutorchError
from et_schema.user_code import raised

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "ENTRY_POINTS",
    "BackendPackage",
    "Packages",
    "backend_packages",
    "load_part",
]

ENTRY_POINTS: Final = "executorch_ir.backends"


@dataclass(frozen=True)
class BackendPackage:
    """The parts of a backend, each as `module:attribute`, empty where there is none."""

    backend_id: str = ""
    """Id of its delegates in files."""
    compiler: str = ""
    """An `et_ir.backends.Backend`: the partitioner, and the compiler of partitions."""
    runtime: str = ""
    """A class of `et_vm.Backend`."""
    read: str = ""
    """A function that reads a blob (`memoryview`) and checks its form. Raises `et_schema.errors.ExecutorchError` for a
    damaged one.
    """
    validate: str = ""
    """A function of a blob that `read` accepts, the `KernelRegistry` (or None) that programs run with, and the named
    data of the program's file, which yields further errors of the blob, without executing anything.
    """
    decoder: str = ""
    """A function of a blob (`memoryview`), its compile specs (`dict[str, bytes]`) and the named data of its program
    (`Mapping[str, memoryview]`) that returns lines of text.
    """
    constants: str = ""
    """A function of a blob and the named data of its program (`Mapping[str, memoryview]`) that yields its constants
    (`et_schema.delegate_constants.DelegateConstant`).
    """
    writes: str = ""
    """A function of a blob and the named data of its program that returns the `et_schema.delegate_blobs.BlobWrites` of
    its calls. Raises
    `et_schema.errors.InvalidFile` for a damaged one.
    """
    graph: str = ""
    """A function of the op of a delegate that returns a `DelegateGraph` (`et_ir.passes.raising.delegate_types`) or
    None: how the sizes of its results depend on its inputs.
    """
    float_results: bool = False
    """Whether its layers on integers give floats in no more time than integers: of a program that it compiles,
    `--quantize int8` rounds what layers read, and nothing else.
    """
    raising: Sequence[str] = ()
    """Names of the passes, in order, that turn delegates of a raised program into edge ops."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Functions by the level at which the partitions of a compilation are printed (`et-compile --emit`): each takes a
    `Callable[[str], None]` and returns a context manager, within which that is called with the text of each partition.
    """
    dialects: Mapping[str, str] = field(default_factory=dict[str, str])
    """xDSL dialects by name."""
    passes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Classes of passes by the name that pipelines use."""


class Packages(NamedTuple):
    """The backend packages that are installed."""

    found: Mapping[str, BackendPackage]
    """By the name of the entry point."""
    failures: Mapping[str, str]
    """Reasons why others cannot be used, by name."""

    def places(self, part: str) -> dict[str, str]:
        """The places of a part (`runtime`, `decoder`, …) by backend id.

        Raises ExecutorchError(RegistrationAlreadyRegistered) where two packages have it for one id.
        """
        made: dict[str, str] = {}
        owners: dict[str, str] = {}
        for name, package in self.found.items():
            place: str = getattr(package, part)
            if not place:
                continue
            first = owners.setdefault(package.backend_id, name)
            if first != name:
                raise ExecutorchError(
                    Error.RegistrationAlreadyRegistered,
                    f"two packages have a {part} for one backend: '{first}' and '{name}'",
                    where=package.backend_id,
                    hint="uninstall one",
                )
            made[package.backend_id] = place
        return made

    def named(self, part: str) -> dict[str, str]:
        """The places of all dialects or passes (`part`) by name.

        Raises ExecutorchError(RegistrationAlreadyRegistered) where two packages have one of a name.
        """
        made: dict[str, str] = {}
        owners: dict[str, str] = {}
        for name, package in self.found.items():
            places: Mapping[str, str] = getattr(package, part)
            for key, place in places.items():
                first = owners.setdefault(key, name)
                if first != name:
                    raise ExecutorchError(
                        Error.RegistrationAlreadyRegistered,
                        f"two backend packages have {part} named '{key}': '{first}' and '{name}'",
                        hint="uninstall one",
                    )
                made[key] = place
        return made


@lru_cache(maxsize=1)
def backend_packages() -> Packages:
    """The backend packages that are installed, in the order of their names. One that cannot be imported, that is no
    `BackendPackage`, or whose name another one has, is among the failures.
    """
    # Imported here: it takes long, and programs without delegates do not need it.
    from importlib.metadata import entry_points

    found: dict[str, BackendPackage] = {}
    failures: dict[str, str] = {}
    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=ENTRY_POINTS):
        points.setdefault(point.name, []).append(point)
    for name, offered in sorted(points.items()):
        places = sorted({point.value for point in offered})
        if len(places) > 1:
            failures[name] = f"two packages install it: {', '.join(places)}; remove one"
            continue
        try:
            package: Any = offered[0].load()
        except (Exception, SystemExit) as error:
            failures[name] = f"it cannot be loaded from {places[0]}: {raised(error)}"
            continue
        if isinstance(package, BackendPackage):
            found[name] = package
        else:
            failures[name] = f"{places[0]} is {package!r}, not a BackendPackage"
    return Packages(found, failures)


def load_part(place: str) -> Any:
    """The attribute that `module:attribute` names. Raises whatever importing the module does."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
