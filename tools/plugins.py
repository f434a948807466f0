"""Extensions of the compiler in files of users: `--load fma.py`.

A file brings what it defines: dialects (`xdsl.ir.Dialect`), passes (`xdsl.passes.ModulePass`) and targets (`Target`).
The backends that it registers are found by their names. Kernels and backends for et-vm are those of `vm_kernels` and
`vm_backends`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from types import ModuleType
from typing import TypeVar

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from et_ir.passes import pass_factories
from et_ir.targets.lookup import TargetError, register_target
from et_ir.targets.target import Target
from et_schema.errors import ExecutorchError
from et_schema.user_code import import_place, is_library
from et_tools.exit_codes import UsageError
from et_tools.messages import print_message
from et_tools.vm_kernels import usage_error

__all__ = ["Extensions", "load_extensions", "register_dialects"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Extensions:
    """Extensions of the compiler by loaded files."""

    dialects: dict[str, Dialect] = field(default_factory=dict[str, Dialect])
    passes: dict[str, type[ModulePass]] = field(default_factory=dict[str, type[ModulePass]])
    passes_alone: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The names of the passes of each file that brings nothing else."""

    def register_dialects(self, context: Context) -> None:
        """Make the dialects known to a context."""
        for name, dialect in self.dialects.items():
            context.register_dialect(name, lambda dialect=dialect: dialect)

    @staticmethod
    def register_installed(context: Context) -> None:
        """Make the dialects known to a context that packages install, by entry points `xdsl.universe`."""
        from xdsl.dialects import get_all_dialects
        from xdsl.universe import Universe

        known = {*get_all_dialects(), *context.registered_dialect_names}
        for name, factory in Universe.get_multiverse().all_dialects.items():
            if name not in known:
                context.register_dialect(name, factory)

    def all_passes(self) -> dict[str, Callable[[], type[ModulePass]]]:
        """Every pass there is by name: those of xDSL and of its universes, of this project, and of the files."""
        from xdsl.universe import Universe

        loaded = {name: lambda cls=cls: cls for name, cls in self.passes.items()}
        return {**Universe.get_multiverse().all_passes, **pass_factories(), **loaded}


def register_dialects(context: Context) -> None:
    """Make every dialect known to a context: those of xDSL and of its universes, and of this project."""
    from xdsl.universe import Universe

    from et_ir.universe import dialect_factories

    for name, factory in {**Universe.get_multiverse().all_dialects, **dialect_factories()}.items():
        context.register_dialect(name, factory)


def load_extensions(places: Sequence[str], command: str) -> Extensions:
    """The extensions by files and modules. Their output goes to stderr, as does a warning for one that brings nothing.

    Raises `UsageError` for one that cannot be imported, and for a name that is taken.
    """
    found = Extensions()
    for place in places:
        try:
            with redirect_stdout(sys.stderr):
                module = import_place(place)
        except ExecutorchError as error:
            raise usage_error(place, error) from error
        dialects, passes, targets = _dialects(module), _passes(module), _targets(module)
        if dialects:
            from xdsl.universe import Universe

            from et_ir.universe import dialect_factories

            taken = {*Universe.get_multiverse().all_dialects, *dialect_factories()}
            _add(found.dialects, dialects, taken, f"--load {place}: a dialect")
        _add(found.passes, passes, pass_factories(), f"--load {place}: a pass")
        try:
            for target in targets:
                register_target(target)
        except TargetError as error:
            raise UsageError(f"--load {place}: {error}") from None
        if dialects or targets or _brings_others(module):
            continue
        if passes:
            found.passes_alone[place] = frozenset(passes)
        else:
            nothing = "no dialect, pass, target, backend, kernel or operator"
            unnamed = next(iter(_pass_classes(module)), None)
            if unnamed is not None:
                nothing = f'the pass {unnamed.__name__} has no name: give its class one, as name = "my-pass"'
            print_message(command, f"--load {place}: it defines nothing that is used: {nothing}", "warning")
    return found


def _add(known: dict[str, _T], new: Mapping[str, _T], taken: Iterable[str], what: str) -> None:
    for name, value in new.items():
        if name in taken or known.get(name, value) is not value:
            raise UsageError(f"{what} named '{name}' exists already: rename it")
        known[name] = value


def _dialects(module: ModuleType) -> dict[str, Dialect]:
    """The dialects of a module, without those of libraries that it imports."""
    return {
        value.name: value
        for value in vars(module).values()
        if isinstance(value, Dialect)
        if not all(is_library(made) for made in (*value.operations, *value.attributes))
    }


def _passes(module: ModuleType) -> dict[str, type[ModulePass]]:
    """The passes of a module, without those of libraries that it imports."""
    return {one.name: one for one in _pass_classes(module) if hasattr(one, "name")}


def _pass_classes(module: ModuleType) -> list[type[ModulePass]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ModulePass) and not is_library(value)
    ]


def _targets(module: ModuleType) -> list[Target]:
    return [value for value in vars(module).values() if isinstance(value, Target)]


def _brings_others(module: ModuleType) -> bool:
    """Whether a module has what others look for: backends, kernels, perhaps operators of torch."""
    from et_vm.backends.loading import backend_classes
    from et_vm.kernels.user import kernels_of

    registry = sys.modules.get("et_ir.delegation.backends_by_name")
    if registry is not None and any(
        isinstance(value, registry.Backend)
        or (isinstance(value, type) and issubclass(value, registry.BackendDetails) and not is_library(value))
        for value in vars(module).values()
    ):
        return True
    # Definitions of operators leave no trace in a module but what they are made with.
    uses_torch = any(
        (
            value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
        ).partition(".")[0]
        == "torch"
        for value in vars(module).values()
    )
    return uses_torch or bool(kernels_of(module).names or backend_classes(module))
