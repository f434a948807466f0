"""Text of the partitions of backends, at levels of their packages."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from et_schema.backend_packages import backend_packages, load_part
from et_tools.exit_codes import UsageError
from et_tools.output import write_stdout

__all__ = ["PartitionTexts", "chosen_partition_texts", "partition_levels"]


def partition_levels() -> dict[str, dict[str, str]]:
    """The levels at which partitions can be printed: for each, the places of the functions that do it by backend."""
    made: dict[str, dict[str, str]] = {}
    for backend, package in backend_packages().found.items():
        for level, place in package.texts.items():
            made.setdefault(level, {})[backend] = place
    return made


@dataclass
class PartitionTexts:
    """The level that is asked for, None for none, and the texts of partitions there."""

    level: str | None = None
    backends: Mapping[str, str] = field(default_factory=dict[str, str])
    """The places of the functions that give the texts, by the backends of the command line."""
    texts: list[str] = field(default_factory=list[str])

    @contextmanager
    def observed(self) -> Generator[None]:
        """Within, partitions that are compiled are written down."""
        if self.level is None:
            yield
            return
        # Backends of one level share the function, or are asked for one at a time.
        for place in dict.fromkeys(self.backends.values()):
            with load_part(place)(self.texts.append):
                yield
            return

    def write(self, args: argparse.Namespace) -> None:
        """Write the partitions to the output. Raises UsageError where there are none."""
        if not self.texts:
            raise UsageError(
                f"--emit {self.level}: no partition is compiled by --backend {next(iter(self.backends))}"
            )
        text = ("\n" if self.level == "asm" else "\n// -----\n\n").join(self.texts)
        if args.output in (None, "-"):
            write_stdout(text)
        else:
            from et_schema.files import atomic_writer

            with atomic_writer(Path(args.output)) as stream:
                stream.write(text.encode())


def chosen_partition_texts(args: argparse.Namespace) -> PartitionTexts:
    """The level of partitions that a command line asks for; the program then stops at the level `backend`.

    Raises UsageError where the backend is not asked for.
    """
    places = partition_levels().get(args.emit)
    if places is None:
        return PartitionTexts()
    chosen = {name: places[name] for text in args.backend or () if (name := text.partition(":")[0]) in places}
    if not chosen:
        raise UsageError(f"--emit {args.emit} needs --backend {' or '.join(sorted(places, reverse=True))}")
    made = PartitionTexts(args.emit, chosen)
    args.emit = "backend"
    return made
