"""Breakpoints by place in the program, and watchpoints by values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from et_vm.devtools.debugger.debugger import Breakpoint, Debugger
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_vm.load.instructions import Instruction

__all__ = [
    "AtInstruction",
    "AtLine",
    "AtOperator",
    "InModule",
    "NonFinite",
    "WatchBytes",
    "WatchRegister",
]


@dataclass(frozen=True)
class AtInstruction(Breakpoint):
    """Before an instruction."""

    index: int
    """Its index in the method."""

    def reached(self, debugger: Debugger, instruction: Instruction, previous: Instruction | None) -> bool:
        return instruction.index == self.index

    def __str__(self) -> str:
        return f"instruction {self.index}"


@dataclass(frozen=True)
class AtOperator(Breakpoint):
    """Before each call of an operator or backend."""

    pattern: str
    """Its name, such as `aten::add.out`, or a shell pattern."""

    def reached(self, debugger: Debugger, instruction: Instruction, previous: Instruction | None) -> bool:
        return fnmatchcase(instruction.name, self.pattern)

    def __str__(self) -> str:
        return f"operator {self.pattern}"


@dataclass(frozen=True)
class AtLine(Breakpoint):
    """Before the first of consecutive instructions that come from a source line, or call a delegate of which a part
    does.
    """

    file: str
    """The end of its path, in whole components."""
    line: int
    """Its number, from 1."""

    def reached(self, debugger: Debugger, instruction: Instruction, previous: Instruction | None) -> bool:
        return self._here(debugger, instruction) and not (
            previous is not None and self._here(debugger, previous)
        )

    def _here(self, debugger: Debugger, instruction: Instruction) -> bool:
        place = debugger.place(instruction)
        known = [one.line.rpartition(":") for one in (place, *place.parts.values())]
        return any(
            frame.lineno == self.line and self._names(frame.filename) for frame in instruction.frames
        ) or any(number == str(self.line) and self._names(file) for file, _, number in known)

    def _names(self, filename: str) -> bool:
        path = filename.replace(os.sep, "/")
        return path == self.file or path.endswith("/" + self.file)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class InModule(Breakpoint):
    """Before the first of consecutive instructions of a module, or that call a delegate of which a part is of it."""

    pattern: str
    """The module's path, such as `encoder.layers.0`, or a shell pattern; its children belong to it."""

    def reached(self, debugger: Debugger, instruction: Instruction, previous: Instruction | None) -> bool:
        return self._here(debugger, instruction) and not (
            previous is not None and self._here(debugger, previous)
        )

    def _here(self, debugger: Debugger, instruction: Instruction) -> bool:
        place = debugger.place(instruction)
        paths = filter(None, (one.module for one in (place, *place.parts.values())))
        return any(
            fnmatchcase(path, self.pattern) or fnmatchcase(path, f"{self.pattern}.*") for path in paths
        )

    def __str__(self) -> str:
        return f"module {self.pattern}"


@dataclass(frozen=True)
class NonFinite(Breakpoint):
    """Behind an instruction that makes a NaN, or with `infinities` one, out of operands that have none."""

    infinities: bool = False
    """Whether infinities count too."""

    def before(self, debugger: Debugger, instruction: Instruction) -> object:
        return self._has(debugger, debugger.read(instruction))

    def after(self, debugger: Debugger, instruction: Instruction, known: object) -> str | None:
        if known or instruction.target >= 0:
            return None
        written = [register for register in debugger.written(instruction) if self._has(debugger, (register,))]
        if not written:
            return None
        what = "a NaN or an infinity" if self.infinities else "a NaN"
        places = ", ".join(f"%{register}" for register in written)
        return f"instruction {instruction.index} writes {what} to {places} and reads none"

    def _has(self, debugger: Debugger, registers: tuple[int, ...]) -> bool:
        values = (debugger.value(register) for register in registers)
        return any(self._found(item) for value in values for item in _items(value))

    def _found(self, value: object) -> bool:
        if isinstance(value, Tensor):
            if not value.has_data or not value.scalar_type.is_floating:
                return False
            array = value.array
        elif isinstance(value, float):
            array = np.float64(value)
        else:
            return False
        return bool(np.any(~np.isfinite(array) if self.infinities else np.isnan(array)))

    def __str__(self) -> str:
        return "first NaN or infinity" if self.infinities else "first NaN"


@dataclass(frozen=True)
class WatchRegister(Breakpoint):
    """Behind an instruction that changes what a register holds: its number, its shape, or elements."""

    register: int
    """Its index."""

    def before(self, debugger: Debugger, instruction: Instruction) -> object:
        return self._snapshot(debugger)

    def after(self, debugger: Debugger, instruction: Instruction, known: object) -> str | None:
        if self._snapshot(debugger) == known:
            return None
        return f"instruction {instruction.index} changed %{self.register}"

    def _snapshot(self, debugger: Debugger) -> object:
        return [
            (item.sizes, item.array.tobytes()) if isinstance(item, Tensor) and item.has_data else repr(item)
            for item in _items(debugger.value(self.register))
        ]

    def __str__(self) -> str:
        return f"changes of %{self.register}"


@dataclass(frozen=True)
class WatchBytes(Breakpoint):
    """Behind an instruction that changes a byte of an arena."""

    arena: int
    """Its memory id, from 1."""
    start: int
    """The first byte."""
    end: int
    """One past the last."""

    def before(self, debugger: Debugger, instruction: Instruction) -> object:
        return debugger.arena(self.arena)[self.start : self.end].copy()

    def after(self, debugger: Debugger, instruction: Instruction, known: object) -> str | None:
        assert isinstance(known, np.ndarray)
        changed = np.flatnonzero(debugger.arena(self.arena)[self.start : self.end] != known)
        if not changed.size:
            return None
        first = self.start + int(changed[0])
        what = f"{changed.size:,} bytes of arena {self.arena}, the first at {first:,}"
        return f"instruction {instruction.index} changed {what}"

    def __str__(self) -> str:
        return f"changes of bytes {self.start:,} to {self.end:,} of arena {self.arena}"


def _items(value: object) -> Iterator[object]:
    if isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _items(item)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield value
