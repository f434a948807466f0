"""Which kernels of a target may write their result over an argument.

The table of a target is `<target>-in-place.txt`: `aten::add.out | self,other` says that the first result may be the
memory of either argument, if both have the same type and layout. `aten::mm.out | - | …` says why a kernel may not.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from et_ir.targets.manifest import TARGETS, base_target, load_manifest

__all__ = ["load_in_place", "load_not_in_place", "replaceable_everywhere"]

_NONE: Final = "-"


@cache
def _rows(target: str) -> tuple[tuple[str, str, str], ...]:
    """Kernel, arguments and reason of each line. Raises `ValueError` for an unknown target."""
    load_manifest(target)
    path = Path(__file__).parent / f"{base_target(target)}-in-place.txt"
    rows: list[tuple[str, str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kernel, arguments, *reason = line.split(" | ")
            rows.append((kernel, arguments, "".join(reason)))
    return tuple(rows)


@cache
def load_in_place(target: str) -> dict[str, frozenset[str]]:
    """For each kernel that may, the arguments that its first result may be written over.

    Raises `ValueError` for an unknown target.
    """
    return {
        kernel: frozenset(arguments.split(","))
        for kernel, arguments, _ in _rows(target)
        if arguments != _NONE
    }


@cache
def load_not_in_place(target: str) -> dict[str, str]:
    """The kernels that may not write over an argument, where the target's table says so, and why.

    Raises `ValueError` for an unknown target.
    """
    return {kernel: reason for kernel, arguments, reason in _rows(target) if arguments == _NONE}


@cache
def replaceable_everywhere() -> dict[str, frozenset[str]]:
    """What `load_in_place` says of every target alike."""
    first, *others = (load_in_place(target) for target in TARGETS)
    common = {
        kernel: arguments.intersection(*(table.get(kernel, ()) for table in others))
        for kernel, arguments in first.items()
    }
    return {kernel: arguments for kernel, arguments in common.items() if arguments}
