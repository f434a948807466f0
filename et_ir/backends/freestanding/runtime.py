"""Runtime functions in LLVM assembly, for what a processor lacks.

An object has those that it calls, under names that are its own: it needs no library.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["runtime_function"]

_ALIASES: Final = {
    "__aeabi_memcpy": "memcpy",
    "__aeabi_memcpy4": "memcpy",
    "__aeabi_memcpy8": "memcpy",
    "__aeabi_memset4": "__aeabi_memset",
    "__aeabi_memset8": "__aeabi_memset",
    "__aeabi_memclr4": "__aeabi_memclr",
    "__aeabi_memclr8": "__aeabi_memclr",
}
"""Functions with another name, and the same arguments."""


def runtime_function(name: str, index_bits: int) -> str | None:
    """The definition of a function as LLVM assembly, for addresses of as many bits; None for an unknown one."""
    text = _functions().get(_ALIASES.get(name, name))
    if text is None:
        return None
    text = text.replace(f"@{_ALIASES.get(name, name)}(", f"@{name}(")
    return text.replace("%size", f"i{index_bits}")


@cache
def _functions() -> dict[str, str]:
    text = files("et_ir.backends.freestanding").joinpath("runtime.ll").read_text("utf-8")
    found = re.findall(r"^define internal [^@]*@(\w+)\(.*?^}\n", text, flags=re.MULTILINE | re.DOTALL)
    parts = re.findall(r"^define internal .*?^}\n", text, flags=re.MULTILINE | re.DOTALL)
    return dict(zip(found, parts, strict=True))
