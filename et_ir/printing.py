"""Modules printed without the elements of constants, with stable names of values."""

from __future__ import annotations

from collections import Counter
from typing import IO, Final

from xdsl.ir import SSAValue
from xdsl.printer import Printer

__all__ = ["INLINE_ELEMENTS", "ModulePrinter", "ValueNames"]

INLINE_ELEMENTS: Final = 64
"""The most elements of a constant that its text has, unless a printer is told otherwise."""


class ValueNames:
    """Names of values over several prints: a value that is still there has the name that it had."""

    def __init__(self) -> None:
        self._names: dict[SSAValue, str] = {}
        self._taken: set[str] = set()
        self._next: Counter[str] = Counter()

    def name(self, value: SSAValue) -> str:
        """The name of a value, which no other has or had: its hint, a number behind it, or a number."""
        known = self._names.get(value)
        if known is None:
            known = self._next_name(value.name_hint or "")
            while known in self._taken:
                known = self._next_name(value.name_hint or "")
            self._names[value] = known
            self._taken.add(known)
        return known

    def _next_name(self, hint: str) -> str:
        number = self._next[hint]
        self._next[hint] += 1
        return (f"{hint}_{number}" if number else hint) if hint else str(number)


class ModulePrinter(Printer):
    """xDSL's printer, with a limit on the elements of constants, and names that outlast it."""

    def __init__(
        self,
        stream: IO[str],
        *,
        debuginfo: bool = False,
        generic: bool = False,
        inline_elements: int = INLINE_ELEMENTS,
        names: ValueNames | None = None,
    ) -> None:
        """Constants of more elements than `inline_elements` are printed by key and hash; with `debuginfo`, each op has
        its location; `generic` is the form that all ops have.
        """
        super().__init__(stream, print_debuginfo=debuginfo, print_generic_format=generic)
        self.inline_elements = inline_elements
        self._value_names = names

    def print_ssa_value(self, value: SSAValue) -> str:
        if self._value_names is None:
            return super().print_ssa_value(value)
        name = self._value_names.name(value)
        self.print_string(f"%{name}")
        return name
