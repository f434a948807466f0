"""The protocol of targets: what a reader or a command is given, how that is damaged, and which outcomes are good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from et_schema.errors import ExecutorchError

__all__ = ["Case", "Target", "Violation"]


class Violation(Exception):
    """A case that ended as none may."""


@dataclass(frozen=True)
class Case:
    """A damaged input of a target, made from the good input `base`."""

    seed: int
    kind: str
    """The name of the target."""
    base: str
    content: bytes


@dataclass(frozen=True)
class Target:
    """A reader of untrusted files, or a command."""

    inputs: Callable[[], Mapping[str, bytes]]
    """Good inputs by name, made once in each process."""
    damage: Callable[[str, bytes, Random], bytes]
    """Damages the input of a name."""
    read: Callable[[Case, Path], str]
    """Reads an input, in a folder of its own that is empty and the working directory. The outcome in a word; raises
    `Violation` for one that none may have.
    """
    share: int
    """Of 10,000 cases."""
    errors: tuple[type[Exception], ...] = (ExecutorchError,)
    """What reading may raise."""
    starts: tuple[str, ...] = ()
    """Names of scripts that it may start in processes of their own."""
