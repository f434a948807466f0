"""Import paths that backends had in earlier versions: `et_ir.backends.NAME` is `et_backends.NAME.compiler`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType

__all__ = ["FormerPaths"]

_BEFORE = "et_ir.backends."


def _present(name: str) -> str:
    package, _, rest = name.removeprefix(_BEFORE).partition(".")
    return ".".join(filter(None, ("et_backends", package, "compiler", rest)))


class FormerPaths(MetaPathFinder, Loader):
    """The same module as under its present path, so that its classes are, too. The core imports none of them.

    To be the first of `sys.meta_path`: the others find the files of a package's modules, and would load them again.
    """

    def __init__(self) -> None:
        self._specs: dict[ModuleType, ModuleSpec | None] = {}
        """Those of modules that are being imported, which importlib replaces."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if not fullname.startswith(_BEFORE):
            return None
        try:
            there = find_spec(_present(fullname))
        except ModuleNotFoundError:  # a package above it
            return None
        return None if there is None else spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_present(spec.name))
        self._specs[module] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs.pop(module)
