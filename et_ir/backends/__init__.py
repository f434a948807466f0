"""Backends that parts of a program can be delegated to, by the name that `et-compile --backend` takes."""

from __future__ import annotations

from typing import Final

__all__ = ["BACKENDS", "MissingBackend", "find_backend"]

BACKENDS: Final[dict[str, str]] = {}
"""Where each backend's partitioner is: `module:class`."""


class MissingBackend(Exception):
    """There is no backend of this name."""

    exit_code = 4


def find_backend(spec: str) -> str:
    """Where the backend of `NAME[:key=value]` is. Raises `MissingBackend` naming those there are."""
    name = spec.partition(":")[0]
    try:
        return BACKENDS[name]
    except KeyError:
        there = ", ".join(sorted(BACKENDS)) or "none"
        raise MissingBackend(f"no backend is called '{name}'; there are: {there}") from None
