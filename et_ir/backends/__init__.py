"""Backends that programs can be delegated to, found through the entry point `et_ir.backends`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

__all__ = ["MissingBackend", "backend_names", "select_backends"]

GROUP = "et_ir.backends"


class MissingBackend(Exception):
    """No installed package provides a backend of this name."""

    exit_code = 4


def backend_names() -> list[str]:
    """The names of the backends that installed packages provide, sorted."""
    return sorted(entry.name for entry in entry_points(group=GROUP))


def select_backends(specs: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Parse `NAME[:key=value,...]` texts. Raises `MissingBackend` for a name that is not installed."""
    chosen: list[tuple[str, dict[str, str]]] = []
    there = backend_names()
    for spec in specs:
        name, _, options = spec.partition(":")
        if name not in there:
            raise MissingBackend(f"no backend is called '{name}'; installed: {', '.join(there) or 'none'}")
        pairs = (pair.partition("=") for pair in options.split(",") if pair)
        chosen.append((name, {key: value for key, _, value in pairs}))
    return chosen
