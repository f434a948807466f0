"""Runtime functions in LLVM assembly, for what a processor lacks.

An object has those that it calls, under names that are its own: it needs no library.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from et_backends.codegen.object_code import InstructionSet

__all__ = ["missing_function", "runtime_function", "runtime_text"]

_ARM: Final = {
    "__aeabi_memcpy": "memcpy",
    "__aeabi_memcpy4": "memcpy",
    "__aeabi_memcpy8": "memcpy",
    "__aeabi_memset4": "__aeabi_memset",
    "__aeabi_memset8": "__aeabi_memset",
    "__aeabi_memclr4": "__aeabi_memclr",
    "__aeabi_memclr8": "__aeabi_memclr",
    "__aeabi_fadd": "__addsf3",
    "__aeabi_fsub": "__subsf3",
    "__aeabi_fmul": "__mulsf3",
    "__aeabi_fdiv": "__divsf3",
    "__aeabi_fcmpun": "__unordsf2",
    "__aeabi_f2iz": "__fixsfsi",
    "__aeabi_f2uiz": "__fixunssfsi",
    "__aeabi_f2lz": "__fixsfdi",
    "__aeabi_i2f": "__floatsisf",
    "__aeabi_ui2f": "__floatunsisf",
    "__aeabi_l2f": "__floatdisf",
    "__aeabi_ul2f": "__floatundisf",
    "__aeabi_idiv": "__divsi3",
    "__aeabi_uidiv": "__udivsi3",
    "__aeabi_lmul": "__muldi3",
    "__aeabi_llsl": "__ashldi3",
    "__aeabi_llsr": "__lshrdi3",
    "__aeabi_lasr": "__ashrdi3",
}
"""Arm's names of functions with the same arguments."""

_ALIASES: Final = {
    **_ARM,
    # Equal is 0; numbers that have no order are neither less, nor equal, nor greater.
    "__eqsf2": "__ltsf2",
    "__nesf2": "__ltsf2",
    "__lesf2": "__ltsf2",
    "__gesf2": "__gtsf2",
}
"""Functions with another name, and the same arguments."""

_NAMES_FOR_ARM: Final = {ours: arm for arm, ours in _ARM.items() if arm[-1] not in "48"}
_CONVERSIONS: Final = frozenset({"__aeabi_f2lz", "__aeabi_l2f", "__aeabi_ul2f"})
"""Between f32 and i64, for which units of single precision have no instructions. Floats are passed as integers here,
also where other functions have them in registers of floats.
"""
_LONG_DIVISION: Final = frozenset({"__udivdi3", "__umoddi3", "__divdi3", "__moddi3"})
"""Division and remainder of i64, without instructions on processors of 32 bits."""
_DOUBLE: Final = re.compile(
    r"__aeabi_(?:c?d\w+|\w+2d)|__\w*df\w*|(?:floor|ceil|trunc|rint|round|roundeven|sqrt|fma)"
)
"""Functions of float64, which are in no object."""


def runtime_function(name: str, target: InstructionSet) -> str | None:
    """The definition of a function as LLVM assembly; None for an unknown one."""
    source = _ALIASES.get(name, name)
    text = None
    if target.soft_float or name in _CONVERSIONS | _LONG_DIVISION:
        text = _functions("soft_float").get(source)
    if text is None:
        text = _functions("runtime").get(source)
    if text is None:
        return None
    text = text.replace(f"@{source}(", f"@{name}(")
    if name.startswith("__aeabi_"):
        for ours, arm in _NAMES_FOR_ARM.items():
            text = text.replace(f"@{ours}(", f"@{arm}(")
    return text.replace("%size", f"i{target.index_bits}")


def missing_function(name: str, target: InstructionSet) -> str:
    """The message for a function that is in no object."""
    if _DOUBLE.fullmatch(name):
        return f"{target.name} has no unit for float64, which an operator computes in ({name})"
    return f"{target.name} needs a function '{name}', which there is not"


def runtime_text(functions: dict[str, str]) -> str:
    """A module of functions by name, which may call each other and others."""
    text = "".join(functions.values())
    called = re.findall(r"call (\w+) @(\w+)\(([^)]*)\)", text)
    declared = {
        f"declare {result} @{name}({', '.join(one.split()[0] for one in arguments.split(', '))})\n"
        for result, name, arguments in called
        if name not in functions
    }
    names = ", ".join(f"ptr @{name}" for name in functions)
    # Nothing in the module calls them before instructions are selected.
    used = f"@llvm.compiler.used = appending global [{len(functions)} x ptr] [{names}]"
    return "".join([f'{used}, section "llvm.metadata"\n', *sorted(declared), text])


@cache
def _functions(file: str) -> dict[str, str]:
    text = files("et_backends.freestanding.compiler").joinpath(f"{file}.ll").read_text("utf-8")
    parts = re.findall(r"^define internal .*?^}\n", text, flags=re.MULTILINE | re.DOTALL)
    return {_name(part): part for part in parts}


def _name(text: str) -> str:
    found = re.match(r"define internal (?:\w+|\{.*?\}) @(\w+)\(", text)
    assert found is not None
    return found[1]
