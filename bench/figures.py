"""Published figures: subjects, commands, goals and the code that each measures.

`python -m bench` runs the measurements and keeps what they print in `bench/figures.json`, from which the table of
`docs/performance.md` is written. A figure is a column of a row of a measurement's table.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
STORE: Final = ROOT / "bench" / "figures.json"
PAGE: Final = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- figures: python -m bench -->\n", "<!-- end of figures -->\n"

NOT_NATIVE: Final = (
    ":!et_backends/native/compiler",
    ":!et_backends/codegen/dialect",
    ":!et_backends/native/runtime",
    ":!et_backends/native/format.py",
)
"""Leaves out the native backend, which only `bench.native` measures."""
COMPILER: Final = ("et_backends", "et_ir", "et_ops", "et_schema", *NOT_NATIVE)
RUNTIME: Final = ("et_backends", "et_vm", "et_schema", *NOT_NATIVE)
BOTH: Final = ("et_vm", *COMPILER)


@dataclass(frozen=True)
class Column:
    """A published column of a table: its index, its head, and what its figures are."""

    index: int
    head: str
    figure: str
    goal: float | None = None
    goals: Mapping[str, float] | None = None
    """Goals of single rows."""
    table: int = 0
    """The measurement's table that holds it."""
    rows: tuple[str, ...] = ()
    """The rows that are published; all unless given."""

    def goal_of(self, row: str) -> float | None:
        return (self.goals or {}).get(row, self.goal)


@dataclass(frozen=True)
class Measurement:
    """A script of this package with its arguments, and the code that its figures are of."""

    name: str
    columns: tuple[Column, ...]
    paths: tuple[str, ...]
    """Files and folders, from the repository's root: a figure is stale when one has changed since."""
    arguments: tuple[str, ...] = ()
    is_on_request: bool = False
    """Whether it is measured only when it is named."""

    @property
    def command(self) -> str:
        return " ".join(("python -m", f"bench.{self.name}", *self.arguments))


MEASUREMENTS: Final = (
    Measurement(
        "compile",
        (
            Column(
                3,
                "ratio",
                "time to compile, the first in a process, to stock's",
                goals={"mobilenet_v2": 0.25, "resnet18": 0.2, "bert": 0.1},
            ),
            Column(
                9,
                "ratio",
                "time to compile again in the same process, to stock's",
                goals={"mobilenet_v2": 0.25, "resnet18": 0.2, "bert": 0.1},
            ),
        ),
        COMPILER,
        ("--processes", "2"),
    ),
    Measurement(
        "memory",
        (
            Column(
                4,
                "above",
                "peak memory while 1 GB of weights are compiled, above torch's copy",
                goals={"linear, ours": 256.0, "convolutional, ours": 256.0},
            ),
        ),
        COMPILER,
        ("--stock",),
    ),
    Measurement(
        "ir_scaling",
        (
            Column(
                6,
                "growth",
                "parse, verify and print, time per op to that at 1,000 ops",
                1.3,
                rows=("100,000",),
            ),
        ),
        COMPILER,
    ),
    Measurement(
        "stock_runtime",
        (
            Column(
                3,
                "ratio",
                "time of our file on the stock runtime, to stock's file",
                goals={"mobilenet_v2": 0.25, "resnet18": 0.083, "bert": 0.25},
            ),
            Column(6, "ratio", "arena of our file, to stock's", 1.0),
            Column(9, "ratio", "size of our file, to stock's", 1.0),
        ),
        COMPILER,
    ),
    Measurement(
        "reorder", (Column(6, "to stock", "arena of an irregular network, to stock's", 0.667),), COMPILER
    ),
    Measurement(
        "planning",
        (
            Column(7, "exact", "arena of the exact planner to the lower bound, and its time", 1.0),
            Column(2, "time", "time to plan synthetic programs at the default effort", 1.0, table=1),
        ),
        ("et_ir/planning",),
    ),
    Measurement(
        "vm_loop",
        (
            Column(
                2,
                "ratio",
                "chain of 200 operators on 4 floats, to a bare loop of the same numpy calls",
                goals={"et_vm": 1.3},
                rows=("et_vm", "et_vm, traced"),
            ),
        ),
        RUNTIME,
    ),
    Measurement(
        "concurrency",
        (
            Column(3, "ratio", "time of a request, two in flight, to one at a time on two threads", 0.87),
            Column(
                6, "ratio", "p99 latency, two in flight, to the median of one at a time on two threads", 2.2
            ),
        ),
        ("et_vm", "et_backends/native", "et_backends/codegen"),
    ),
    Measurement(
        "startup",
        (
            Column(
                2,
                "median",
                "whole process",
                goals={"et-vm run small.pte": 0.25, "et-opt --help": 0.4},
                rows=("et-vm run small.pte", "et-opt --help"),
            ),
        ),
        (*BOTH, "tools"),
    ),
    Measurement(
        "load",
        (Column(6, "share", "time to load and verify, to 5 ms and 20 µs an instruction", 1.0),),
        RUNTIME,
    ),
    Measurement(
        "models",
        (
            Column(
                3, "ratio", "inference, `portable` to stock's portable kernels", goals={"mobilenet_v2": 0.1}
            ),
            Column(7, "ratio", "inference, `aten` to torch eager", 1.0),
        ),
        BOTH,
    ),
    Measurement(
        "decode",
        (
            Column(
                2,
                "to eager",
                "a step of the cached decoder, to eager with the same cache",
                goals={"aten": 1.0},
                rows=("aten", "portable"),
            ),
        ),
        BOTH,
    ),
    Measurement(
        "resize",
        (
            Column(3, "ratio", "a file for any size, run at one size, to a file for that size", 1.05),
            Column(6, "ratio", "… a run that changes the size, to runs that do not"),
        ),
        BOTH,
        ("bert", "resnet18"),
    ),
    Measurement(
        "kernels", (Column(7, "portable / stock", "one kernel, `portable` to stock's", 1.5),), RUNTIME
    ),
    Measurement(
        "xnnpack",
        (
            Column(3, "ratio", "time to compile for XNNPACK, to stock's", 0.33),
            Column(9, "ratio", "time of our XNNPACK file on the stock runtime, to stock's file", 1.05),
        ),
        COMPILER,
        ("--repeat", "30"),
    ),
    Measurement(
        "xnnpack_vm",
        (Column(3, "ratio", "a delegated file to an undelegated one on et-vm", 1.0),),
        BOTH,
        ("mobilenet_v2", "resnet18", "bert", "llama"),
    ),
    Measurement(
        "checks",
        (
            Column(
                1,
                "minutes",
                "minutes of the checks of a change",
                goals={"make check": 1.5, "make test": 8.0, ".ci/run": 30.0},
            ),
        ),
        ("Makefile", ".ci", "dev/affected.py", "dev/parts.py", "dev/shares.py", "test"),
        is_on_request=True,
    ),
)
"""All that is published, in the order of the page."""

UNITS: Final = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "MB": 1.0}


def value_of(cell: str) -> float:
    """The number at the start of a cell; times in seconds, sizes in MB, ratios as they are."""
    match = re.match(r"([0-9.,]+)\s*(\S*)", cell.strip())
    if match is None:
        raise ValueError(f"no number at the start of {cell!r}")
    return float(match[1].replace(",", "")) * UNITS.get(match[2], 1.0)


def rows_of(measurement: Measurement, tables: list[Any]) -> Iterator[dict[str, Any]]:
    """The figures in the tables that a measurement printed; `ValueError` if a table is another than was expected."""
    for column in measurement.columns:
        head, rows = tables[column.table]
        if head[column.index] != column.head:
            raise ValueError(f"bench.{measurement.name}: column {column.index} is {head[column.index]!r}")
        for cells in rows:
            name = cells[0].strip()
            if not column.rows or name in column.rows:
                shown = cells[column.index].strip()
                goal = column.goal_of(name)
                yield {"figure": column.figure, "of": name, "value": shown, "goal": goal}


def read() -> dict[str, Any]:
    """The record of each measurement: the commit, whether its code was as committed, and the rows."""
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], check=False, cwd=ROOT, capture_output=True, text=True)


def state_of(measurement: Measurement, commit: str) -> str:
    """`current`; `stale` when its code has changed since; `unknown` where the commit is not in the clone."""
    if git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
        return "unknown"
    paths = (*measurement.paths, f"bench/{measurement.name}.py")
    return "stale" if git("diff", "--quiet", commit, "--", *paths).returncode else "current"


def table(kept: Mapping[str, Any], states: Mapping[str, str]) -> str:
    """The Markdown table of the figures, by measurement."""
    lines = ["| figure | of | measured | goal | | command | commit |", "|---|---|---:|---:|---|---|---|"]
    for measurement in MEASUREMENTS:
        record = kept.get(measurement.name)
        if record is None:
            lines.append(f"| | | not measured yet | | | `{measurement.command}` | |")
            continue
        state = states.get(measurement.name, "current")
        commit = record["commit"][:10] + ("" if state == "current" else f" ({state})")
        previous = ""
        for row in record["rows"]:
            goal = row["goal"]
            missed = goal is not None and value_of(row["value"]) > goal
            figure = "…" if row["figure"] == previous else row["figure"]
            previous = row["figure"]
            at_most = "" if goal is None else f"≤ {goal:g}"
            met = "" if goal is None else "missed" if missed else "reached"
            command = f"`{measurement.command}`"
            lines.append(
                f"| {figure} | {row['of']} | {row['value']} | {at_most} | {met} | {command} | {commit} |"
            )
    return "\n".join(lines) + "\n"


def page(text: str, figures: str) -> str:
    """A page with the table between its marks; `ValueError` if it has no marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no place for the table of figures")
    return f"{before}{BEGIN}\n{figures}\n{END}{after}"
