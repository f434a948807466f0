"""Kernel manifests: which operators a target runtime registers.

A manifest is `<target>.txt`: one operator per line as runtimes name it (`aten::add.out`), sorted; `#` starts a comment.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["TARGETS", "load_manifest"]

TARGETS: Final = ("stock-1.4", "et-vm", "et-vm-aten")
"""`et-vm` is the VM with the kernels of its own, `et-vm-aten` with those of torch (`et-vm run --kernels aten`)."""


@cache
def load_manifest(target: str) -> frozenset[str]:
    """The operators of a target. Raises `ValueError` for an unknown target, naming those there are."""
    if target not in TARGETS:
        raise ValueError(f"unknown target '{target}', expected one of {', '.join(TARGETS)}")
    text = (Path(__file__).parent / f"{target}.txt").read_text(encoding="utf-8")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line)
