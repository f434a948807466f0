"""Manifests: which operators a target runtime registers, and which backends.

A manifest is `<target>.txt`: one operator per line as runtimes name it (`aten::add.out`), sorted; `#` starts a comment.
That of backends is `<target>-backends.txt`, with one backend id per line.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

__all__ = [
    "CURRENT_TARGETS",
    "STOCK",
    "TARGETS",
    "base_target",
    "load_backends",
    "load_manifest",
    "load_refused_types",
]

STOCK: Final = "stock-1.5"
"""The stock runtime that programs are compiled for by default, and that the tests run: of the executorch wheel that
`pyproject.toml` names.
"""

_STOCK: Final = (STOCK, "stock-1.4")
"""The versions of the stock runtime, newest first. The tables of earlier ones stay as they were observed."""

CURRENT_TARGETS: Final = (STOCK, f"{STOCK}-quantized", "et-vm", "et-vm-aten")
"""The runtimes that are at hand in the development environment."""

TARGETS: Final = tuple(
    dict.fromkeys(
        (*CURRENT_TARGETS, *(f"{stock}{kernels}" for stock in _STOCK for kernels in ("", "-quantized")))
    )
)
"""`stock-1.5` is the runtime of the executorch wheel as it starts, `stock-1.5-quantized` the same with the library of
quantised kernels that comes with it (`import executorch.kernels.quantized`); `et-vm` is the VM with the kernels of its
own, `et-vm-aten` with those of torch (`et-vm run --kernels aten`). Then come earlier versions of the stock runtime.
"""

_EXTENDED: Final = {f"{stock}-quantized": stock for stock in _STOCK}
"""Targets that have the kernels of another and more."""

_SAME_BACKENDS: Final = {**_EXTENDED, "et-vm-aten": "et-vm"}
"""Targets that have the backends of another."""


@cache
def load_manifest(target: str) -> frozenset[str]:
    """The operators of a target. Raises `ValueError` for an unknown target, naming those there are."""
    if target not in TARGETS:
        raise ValueError(f"unknown target '{target}', expected one of {', '.join(TARGETS)}")
    return _lines(target)


@cache
def load_backends(target: str) -> frozenset[str]:
    """The ids of a target's backends. Raises `ValueError` for an unknown target."""
    load_manifest(target)
    return _lines(f"{_SAME_BACKENDS.get(target, target)}-backends")


def _lines(name: str) -> frozenset[str]:
    text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line)


def base_target(target: str) -> str:
    """The target whose kernels a target extends, or the target itself: tables about kernels are its."""
    return _EXTENDED.get(target, target)


@cache
def load_refused_types(target: str) -> dict[str, dict[str, frozenset[str]]]:
    """The element types that kernels of a target refuse, by kernel and argument: `<target>-types.txt`, if there is one.

    Raises `ValueError` for an unknown target.
    """
    load_manifest(target)
    path = Path(__file__).parent / f"{base_target(target)}-types.txt"
    found: dict[str, dict[str, frozenset[str]]] = {}
    if not path.exists():
        return found
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        kernel, args, types = line.split(" | ")
        found.setdefault(kernel, {}).update(dict.fromkeys(args.split(","), frozenset(types.split())))
    return found
