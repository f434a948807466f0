"""Stack bounds of functions, from their assembly.

A frame is the sum of what the instructions of a function take from the stack pointer; on Arm, directives say it. A
function needs its frame and the largest need of the functions that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["stack_bound"]

_LABEL: Final = re.compile(r"^([A-Za-z_][\w.$]*):")
_REGISTERS: Final = re.compile(r"\.(v?save)\s*\{([^}]*)\}")
_PAD: Final = re.compile(r"\.pad\s*#(\d+)")
_TAKEN: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"\baddi\s+sp, sp, -(\d+)",  # RISC-V
        r"\bsub\s+sp, sp, #(\d+)$",  # AArch64
        r"\[sp, #-(\d+)\]!",
        r"\bsubq\s+\$(\d+), %rsp",  # x86
        r"global\.get\s+__stack_pointer\s+i32\.const\s+(\d+)\s+i32\.sub",  # WebAssembly
    )
)
_PAGES: Final = re.compile(r"\bsub\s+sp, sp, #(\d+), lsl #12$", re.MULTILINE)
"""AArch64 takes more than a page in two steps: whole pages of this many bytes, and the rest."""
_PAGE: Final = 1 << 12
_UNKNOWN: Final = re.compile(r"\bsub\s+sp, sp, [a-z]|\band[iq]?\s+(?:sp,|.*, %rsp)")
"""Frames whose size no instruction says by itself: of more than some kilobytes, or aligned further than the stack."""
_VECTOR: Final = 64
"""Bytes of a vector register of RISC-V at most, where some are kept on the stack."""
_WORD: Final = 8
"""Bytes of a register or return address on the stack of x86."""


@dataclass
class _Function:
    frame: int = 0
    calls: set[str] = field(default_factory=set[str])


def stack_bound(assembly: str, entry: str) -> int:
    """Bytes of the stack that a call of `entry` needs, without what an interrupt adds.

    Raises ValueError for recursion, and for a frame whose size no single instruction says.
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
    return {name: _function(name, "\n".join(lines), names - {name}) for name, lines in parts.items()}


def _function(name: str, text: str, others: set[str]) -> _Function:
    frame = sum(
        _count(registers) * (8 if kind == "vsave" else 4) for kind, registers in _REGISTERS.findall(text)
    )
    frame += sum(map(int, _PAD.findall(text)))
    frame += sum(int(size) for pattern in _TAKEN for size in pattern.findall(text))
    frame += _PAGE * sum(map(int, _PAGES.findall(text)))
    vectors, text = _vectors(text)
    frame += vectors * _VECTOR
    if "%rsp" in text or "retq" in text:
        frame += _WORD * (1 + len(re.findall(r"\bpushq\b", text)))
    if _UNKNOWN.search(text) and ".pad" not in text:
        raise ValueError(f"the size of the frame of '{name}' is not known")
    # Directives between this function and the next name that one.
    instructions = re.sub(r"^\s*\..*$", "", text, flags=re.MULTILINE)
    return _Function(frame, others & set(re.findall(r"[A-Za-z_][\w.$]*", instructions)))


def _vectors(text: str) -> tuple[int, str]:
    """The vector registers of RISC-V that a function keeps on the stack, and its text without what takes their room.

    Room is a multiple of the length of a register, which is computed in the instructions before.
    """
    lengths: dict[str, int] = {}
    """Multiples of the length, by the register that they are in."""
    numbers: dict[str, int] = {}
    count = 0
    kept: list[str] = []
    for line in text.splitlines():
        name, *operands = re.split(r"[\s,]+", line.strip()) or [""]
        made: int | None = None
        match name, operands:
            case "csrr", [_, "vlenb"]:
                made = 1
            case "slli", [_, source, number] if source in lengths:
                made = lengths[source] << int(number)
            case (("add" | "sub"), [_, one, other]) if one in lengths and other in lengths:
                made = lengths[one] + (lengths[other] if name == "add" else -lengths[other])
            case "mul", [_, one, other] if one in lengths and other in numbers:
                made = lengths[one] * numbers[other]
            case "sub", ["sp", "sp", taken] if taken in lengths:
                count += lengths[taken]
                continue
            case _:
                pass
        kept.append(line)
        if operands:
            lengths.pop(operands[0], None)
            numbers.pop(operands[0], None)
            if made is not None:
                lengths[operands[0]] = made
            elif name == "li" and operands[1].isdecimal():
                numbers[operands[0]] = int(operands[1])
    return count, "\n".join(kept)


def _count(registers: str) -> int:
    """The number of registers of a list, such as `r4, r5, lr` or `d8-d11`."""
    count = 0
    for one in registers.split(","):
        ends = [int(end.strip()[1:]) for end in one.split("-")] if "-" in one else [0]
        count += ends[-1] - ends[0] + 1
    return count
