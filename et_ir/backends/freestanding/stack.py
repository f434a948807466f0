"""Stack bounds of functions, from the unwind directives of their assembly.

A frame is what the directives say that is on the stack when all of it has been allocated; a function needs its frame
and the largest need of the functions that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["stack_bound", "with_unwind_tables"]

_LABEL: Final = re.compile(r"^([A-Za-z_]\w*):")
_REGISTERS: Final = re.compile(r"\.(v?save)\s*\{([^}]*)\}")
_PAD: Final = re.compile(r"\.pad\s*#(\d+)")
_CFA: Final = re.compile(r"\.cfi_(?:def_cfa_offset|def_cfa \w+,) ?(\d+)")
_SHADOW: Final = re.compile(r"global\.get\s+__stack_pointer\s+i32\.const\s+(\d+)\s+i32\.sub")
"""Of WebAssembly: what has an address is on a stack in memory, of which the frame is taken."""


@dataclass
class _Function:
    frame: int = 0
    calls: set[str] = field(default_factory=set[str])


def with_unwind_tables(text: str) -> str:
    """A module in LLVM assembly whose functions say in theirs how large their frames are."""
    return re.sub(r"^(attributes #\d+ = \{.*?) \}$", r"\1 uwtable }", text, flags=re.MULTILINE)


def stack_bound(assembly: str, entry: str) -> int:
    """Bytes of the stack that a call of `entry` needs, without what an interrupt adds.

    Raises ValueError for recursion.
    """
    return _bound(_functions(assembly), entry, ())


def _bound(functions: Mapping[str, _Function], name: str, above: tuple[str, ...]) -> int:
    if name in above:
        raise ValueError(f"'{name}' calls itself")
    function = functions[name]
    return function.frame + max(
        (_bound(functions, other, (*above, name)) for other in sorted(function.calls)), default=0
    )


def _functions(assembly: str) -> dict[str, _Function]:
    """Frame and calls of each function."""
    names = set(re.findall(r"\.type\s+([\w.]+),\s*[@%]function", assembly))
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        if label:
            current = parts.setdefault(label[1], []) if label[1] in names else []
        current.append(line)
    return {name: _function("\n".join(lines), names - {name}) for name, lines in parts.items()}


def _function(text: str, others: set[str]) -> _Function:
    frame = sum(
        _count(registers) * (8 if kind == "vsave" else 4) for kind, registers in _REGISTERS.findall(text)
    )
    frame += sum(map(int, _PAD.findall(text)))
    frame += max(map(int, _CFA.findall(text)), default=0)
    frame += max(map(int, _SHADOW.findall(text)), default=0)
    # Directives between this function and the next name that one.
    instructions = re.sub(r"^\s*\..*$", "", text, flags=re.MULTILINE)
    return _Function(frame, others & set(re.findall(r"[A-Za-z_]\w*", instructions)))


def _count(registers: str) -> int:
    """The number of registers of a list, such as `r4, r5, lr` or `d8-d11`."""
    count = 0
    for one in registers.split(","):
        ends = [int(end.strip()[1:]) for end in one.split("-")] if "-" in one else [0]
        count += ends[-1] - ends[0] + 1
    return count
