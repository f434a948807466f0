"""Targets by name: those that come with the compiler, those of installed packages, and those in a file.

An installed package offers a target by an entry point of the group `executorch_ir.targets`; one in a file or a module
is named `file.py:ATTRIBUTE` or `package.module:ATTRIBUTE`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Final

from et_ir.targets.devices import device_hint, processor_hint
from et_ir.targets.target import Target
from et_schema.diagnostics import did_you_mean, same_numbers
from et_schema.user_code import import_place, raised
from et_schema.wording import worded

__all__ = [
    "CURRENT_TARGETS",
    "DEFAULT",
    "GROUP",
    "TARGETS",
    "TargetError",
    "find_target",
    "missing_backend",
    "register_target",
    "replaceable_everywhere",
    "target_names",
    "unknown_target",
]

DEFAULT: Final = "stock-1.5"
"""The target of commands, functions and passes that are not told another, and the stock runtime that the tests run: of
the executorch wheel that `pyproject.toml` names.
"""

TARGETS: Final[dict[str, str]] = {
    "stock-1.5": "et_ir.targets.stock:STOCK_1_5",
    "stock-1.5-quantized": "et_ir.targets.stock:STOCK_1_5_QUANTIZED",
    "et-vm": "et_ir.targets.vm:ET_VM",
    "et-vm-aten": "et_ir.targets.vm:ET_VM_ATEN",
    "stock-1.4": "et_ir.targets.stock:STOCK_1_4",
    "stock-1.4-quantized": "et_ir.targets.stock:STOCK_1_4_QUANTIZED",
}
"""Targets that come with the compiler, by place: `module:attribute`.

`stock-1.5` is the runtime of the executorch wheel as it starts, `stock-1.5-quantized` the same with the library of
quantized kernels that comes with it (`import executorch.kernels.quantized`); `et-vm` is the VM with the kernels of its
own, `et-vm-aten` with those of torch (`et-vm run --kernels aten`). Then come earlier versions of the stock runtime,
whose tables stay as they were observed.
"""

CURRENT_TARGETS: Final = (DEFAULT, f"{DEFAULT}-quantized", "et-vm", "et-vm-aten")
"""The runtimes that are at hand in the development environment."""

GROUP: Final = "executorch_ir.targets"
"""The group of entry points."""


_registered: Final[dict[str, Target]] = {}


class TargetError(ValueError):
    """There is no such target, or what was found under its name is none."""


def target_names() -> list[str]:
    """The names of the targets there are: those of the compiler, of installed packages, and of loaded files."""
    installed = sorted({*(entry.name for entry in entry_points(group=GROUP)), *_registered})
    return [*TARGETS, *(name for name in installed if name not in TARGETS)]


def register_target(target: Target) -> None:
    """Add a target, as a file does that is loaded. Raises `TargetError` if another has its name."""
    if target.name in target_names() and find_target(target.name) is not target:
        raise TargetError(f"a target named '{target.name}' exists already: rename it")
    _registered[target.name] = target


@cache
def find_target(name: str) -> Target:
    """The target of that name. Raises `TargetError`, a `ValueError`, if there is none, naming those there are."""
    if name in _registered:
        return _registered[name]
    if name in TARGETS:
        return _loaded(name, TARGETS[name])
    if ":" in name:
        return _loaded(name, name, import_place)
    offered = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if len(offered) > 1:
        places = ", ".join(entry.value for entry in offered)
        raise TargetError(f"two packages install a target named '{name}': {places}; remove one")
    if not offered:
        raise TargetError(unknown_target(name))
    return _loaded(name, offered[0].value)


def unknown_target(name: str, processors: Collection[str] = ()) -> str:
    """The message about a name that is none of a target, or of the `processors` that can be given as well, for objects:
    those there are, and what is like it or is for a device of that name.
    """
    names = target_names()
    listed = f"; or for an object, a processor: {', '.join(processors)}" if processors else ""
    near = did_you_mean(name, [*names, *same_numbers(name, processors)])
    hint = processor_hint(name)
    if hint and not processors:
        made = worded(
            python="et_backends.freestanding.compiler.programs.compile_program makes objects for processors",
            command="et-compile --target PROCESSOR -o FILE.o makes objects for processors",
        )
        hint = f"; {made}{hint}"
    # A near name is no better than what a device of this name takes, but a computer may be called as its processor.
    told = hint or f"{near}{device_hint(name, DEFAULT)}"
    return f"unknown target '{name}', expected one of {', '.join(names)}{listed}{told}"


def missing_backend(backend: str, target: Target, backends: Collection[str]) -> tuple[str, str]:
    """The problem of a program that needs a backend, by its id, that is not among the `backends` of a target and its
    user, and suggested fixes.
    """
    message = f"'{target}' has no backend {backend}, it has: {', '.join(sorted(backends)) or 'none'}"
    having = [other for other in TARGETS if backend in find_target(other).backends]
    fixes = [f"compile for a target that has it: {' or '.join(having)}"] if having else []
    declared = worded(
        python=f"ExecutorchBackendConfig(extra_backends=[{backend!r}])", command=f"--extra-backends {backend}"
    )
    if target.vm_kernels is not None:
        loaded = worded(python="", command="load its runtime part with --load FILE, or ")
        fixes.append(f"{loaded}declare it with {declared}")
    else:
        fixes.append(f"if your runtime has it, declare it with {declared}")
    return message, "; or ".join(fixes)


def _loaded(name: str, place: str, import_: Callable[[str], ModuleType] = import_module) -> Target:
    module, _, attribute = place.rpartition(":")
    try:
        found: object = getattr(import_(module), attribute)
    except (Exception, SystemExit) as error:
        # Loading runs the code of others, which may raise anything.
        raise TargetError(f"the target {name} cannot be loaded: {raised(error)}") from error
    if not isinstance(found, Target):
        raise TargetError(f"the target {name} is a {type(found).__name__}, not a Target")
    return found


@cache
def replaceable_everywhere() -> dict[str, frozenset[str]]:
    """The share of `Target.in_place` that is common to all targets of the compiler."""
    first, *others = (find_target(name).in_place for name in TARGETS)
    common = {
        kernel: arguments.intersection(*(table.get(kernel, ()) for table in others))
        for kernel, arguments in first.items()
    }
    return {kernel: arguments for kernel, arguments in common.items() if arguments}
