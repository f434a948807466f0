"""Durations of tests, as the last runs of the parts recorded them.

    python -m dev.durations            the slowest tests of the parts that were run
    python -m dev.durations --write    write test/durations.json, from which shares of the tests are sized

A run of tests with the variable PART set appends to `build/durations/PART.jsonl`; `dev.parts` sets it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, Final

from dev.shares import SHORT, STORE, read_durations

__all__ = ["FOLDER", "PART", "main", "record", "recorded", "slowest", "table"]

FOLDER: Final = Path(__file__).parents[1] / "build" / "durations"
PART: Final = "PART"
SUITE: Final = " :: "
"""What lit has between the name of the suite and the path of a test in it."""
LIT: Final = "lit.json"
"""Ending of the files that `lit -o` writes."""


def record(seconds: Mapping[str, float]) -> None:
    """Append the durations of tests to the file of the part that is run, if one is."""
    if part := os.environ.get(PART):
        FOLDER.mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps({"test": test, "seconds": round(each, 3)}) + "\n" for test, each in seconds.items()
        ]
        with (FOLDER / f"{part}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(lines)


def recorded(folder: Path = FOLDER) -> Iterator[tuple[str, str, float]]:
    """Part, test and seconds of each test that was run."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row: dict[str, Any] = json.loads(line)
            yield path.stem, row["test"], row["seconds"]
    for path in sorted(folder.glob(f"*.{LIT}")):
        for row in json.loads(path.read_text(encoding="utf-8"))["tests"]:
            yield path.name.removesuffix(f".{LIT}"), row["name"], row["elapsed"] or 0.0


def slowest(count: int, folder: Path = FOLDER) -> list[tuple[str, str, float]]:
    """The tests that took longest, the longest first."""
    return sorted(recorded(folder), key=lambda row: (-row[2], row[1]))[:count]


def table(folder: Path = FOLDER) -> dict[str, float]:
    """Mean seconds of a case of each test, from `SHORT` on, lit's by path; what was not run keeps what it had."""
    by_test: defaultdict[str, list[float]] = defaultdict(list)
    for _, test, seconds in recorded(folder):
        suite, is_lit, path = test.partition(SUITE)
        by_test[f"test/lit/{path}" if is_lit else suite.partition("[")[0]].append(seconds)
    root = STORE.parents[1]
    found = read_durations() | {name: round(mean(each), 2) for name, each in by_test.items()}
    return {
        name: found[name]
        for name in sorted(found)
        if found[name] >= SHORT and (root / name.partition("::")[0]).exists()
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dev.durations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write test/durations.json")
    options = parser.parse_args(arguments)
    if options.write:
        STORE.write_text(json.dumps(table(), indent=0) + "\n", encoding="utf-8")
        return 0
    for part, test, seconds in slowest(30):
        print(f"{seconds:8.1f} s  {part:12} {test}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
