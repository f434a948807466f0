"""Parts of the checks: the time that each may take, and a report of what it took.

    python -m dev.parts NAME COMMAND ...    run a command of a part, and record its time
    python -m dev.parts                     report the parts that were run; fails if one took more than its share

The shares are seconds on two idle cores of the machine that the published figures are measured on. Before each command
both cores count to a fixed number, so that slower, faster and busier machines are compared by the same measure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final

from dev.durations import FOLDER, PART, slowest

__all__ = ["BUDGETS", "CORES", "REFERENCE", "Run", "main", "over", "report"]

BUDGETS: Final = {
    "lint": 20,
    "types": 300,
    "types-near": 90,
    "lit": 240,
    "lit-near": 60,
    "cases": 90,
    "tests": 480,
    "test-core": 90,
    "random": 60,
    "commands": 240,
    "machines": 150,
    "affected": 720,
    "properties": 360,
    "fuzz-quick": 120,
    "walkthrough": 540,
    "pages": 180,
    "suites": 4800,
}
"""Seconds of each part."""
CORES: Final = 2
REFERENCE: Final = 0.21
"""Seconds that a core of the reference machine needs for `STEPS`."""
STEPS: Final = 10_000_000
FILE: Final = FOLDER / "parts"
SLOWEST: Final = 10


@dataclass(frozen=True)
class Run:
    """A command of a part: its wall time, and that of counting before it."""

    part: str
    seconds: float
    counting: float


def counting() -> float:
    """Seconds in which as many processes as the reference machine has cores count to `STEPS` at once."""
    start = time.perf_counter()
    children: list[int] = []
    for _ in range(CORES):
        child = os.fork()
        if child == 0:
            for _ in range(STEPS):
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return time.perf_counter() - start


def slowness(runs: Iterable[Run]) -> float:
    """The time that this machine takes, as a multiple of that of the reference machine; at least 1.

    A machine that counts twice as fast has no memory, disk or compilers that are twice as fast: the shares of faster
    machines are not smaller.
    """
    return max(1.0, median([run.counting for run in runs]) / REFERENCE)


def over(runs: Iterable[Run]) -> dict[str, tuple[float, float]]:
    """Seconds taken and seconds allowed of each part, in the order in which they were run."""
    runs = list(runs)
    factor = slowness(runs)
    taken: defaultdict[str, float] = defaultdict(float)
    for run in runs:
        taken[run.part] += run.seconds
    return {part: (seconds, BUDGETS[part] * factor) for part, seconds in taken.items()}


def report(runs: Iterable[Run]) -> tuple[str, bool]:
    """A table of the parts, the slowest tests, and whether all parts kept to their shares."""
    runs = list(runs)
    parts = over(runs)
    factor = slowness(runs)
    lines = [f"{'part':12} minutes  allowed  on the reference machine"]
    for part, (seconds, allowed) in parts.items():
        mark = "  TOO LONG" if seconds > allowed else ""
        lines.append(f"{part:12} {seconds / 60:7.1f}  {allowed / 60:7.1f}  {BUDGETS[part] / 60:7.1f}{mark}")
    lines.append(f"{'all':12} {sum(seconds for seconds, _ in parts.values()) / 60:7.1f}")
    lines.append(f"this machine takes {factor:.2f} times as long as the reference machine (dev/parts.py)")
    if tests := slowest(SLOWEST, FOLDER):
        lines += ["", "slowest tests, in seconds"]
        lines += [f"{seconds:7.1f}  {part:12} {test}" for part, test, seconds in tests]
    return "\n".join(lines), all(seconds <= allowed for seconds, allowed in parts.values())


def main(arguments: list[str]) -> int:
    if not arguments and not FILE.exists():
        print("no part was run")
        return 0
    if not arguments:
        runs = [Run(**json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines()]
        text, is_kept = report(runs)
        print(text, flush=True)
        return 0 if is_kept else 1
    part, *command = arguments
    if part in {"-h", "--help"}:
        print(f"usage: python -m dev.parts [PART COMMAND ...]\n\n{__doc__}")
        return 0
    if part not in BUDGETS or not command:
        print(f"usage: python -m dev.parts PART COMMAND ..., a part of {', '.join(BUDGETS)}", file=sys.stderr)
        return 2
    counted = counting()
    start = time.perf_counter()
    code = subprocess.run(command, check=False, env={**os.environ, PART: part}).returncode
    seconds = time.perf_counter() - start
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FILE.open("a", encoding="utf-8") as file:
        file.write(
            json.dumps({"part": part, "seconds": round(seconds, 2), "counting": round(counted, 4)}) + "\n"
        )
    print(f"{part}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
