"""The report of a sweep: one HTML file with a table, plots, differences and failures. It makes no requests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from et_ops.data_files import text_of
from et_schema.files import atomic_writer
from et_sweep.journal import JournalError
from et_sweep.sweep import TABLE
from et_tools.report import page as report_page

__all__ = ["differences", "failures", "read_rows", "write_report"]

FILE: Final = "report.html"

_COMPARED: Final = (
    "median_seconds",
    "file_bytes",
    "arena_bytes",
    "peak_bytes",
    "error",
    "sqnr",
    "compile_seconds",
)


def read_rows(folder: str | Path) -> list[dict[str, Any]]:
    """The rows of a results folder. Raises `JournalError` for what has none."""
    file = Path(folder) / TABLE
    try:
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise JournalError(f"--baseline {folder}: {TABLE} cannot be read: {error}") from None


def differences(
    rows: Sequence[Mapping[str, Any]], baseline: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Columns of cells that both sweeps have and that differ: values before and after, and their ratio. Times differ
    where they do by more than twice the noise of both together, and not at all where a noise is unknown.
    """
    before = {one["key"]: one for one in baseline}
    found: list[dict[str, Any]] = []
    for row in rows:
        old = before.get(row["key"])
        if old is None:
            continue
        if row["compiled"] != old["compiled"]:
            found.append(
                {"key": row["key"], "column": "compiled", "before": old["compiled"], "after": row["compiled"]}
            )
        for column in _COMPARED:
            one, other = row.get(column), old.get(column)
            if not isinstance(one, int | float) or not isinstance(other, int | float) or one == other:
                continue
            bound = _bound(column, row, old)
            ratio = one / other if other else None
            if bound is None or (ratio is not None and abs(ratio - 1) <= bound):
                continue
            found.append(
                {
                    "key": row["key"],
                    "column": column,
                    "before": other,
                    "after": one,
                    "ratio": ratio,
                    "bound": bound,
                }
            )
    return found


def _bound(column: str, row: Mapping[str, Any], old: Mapping[str, Any]) -> float | None:
    """The relative difference that is noise."""
    if column == "median_seconds":
        noises = row.get("noise"), old.get("noise")
        return None if None in noises else 2 * sum(one**2 for one in noises if one is not None) ** 0.5
    # Measured once.
    return {"compile_seconds": 0.3, "peak_bytes": 0.05}.get(column, 0.0)


def failures(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Failures by message, those of most cells first. Messages that differ in numbers are one."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        for column in ("message", "run_message", "time_message"):
            if row.get(column):
                groups.setdefault(re.sub(r"\d+", "N", row[column]), []).append({**row, "said": row[column]})
    return [
        {
            "message": cells[0]["said"],
            "cells": [{"key": one["key"], "command": one["command"]} for one in cells],
        }
        for cells in sorted(groups.values(), key=len, reverse=True)
    ]


def write_report(
    folder: str | Path,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    baseline: Sequence[Mapping[str, Any]] | None = None,
    reduced: Mapping[str, str] | None = None,
) -> None:
    """Write `report.html` of a results folder; `reduced` are files of reduced programs, or why there are none, by the
    key of their cell. Raises `OSError`.
    """
    facts = {
        "name": name,
        "rows": rows,
        "differences": None if baseline is None else differences(rows, baseline),
        "failures": failures(rows),
        "reduced": dict(reduced or {}),
    }
    here = Path(__file__).parent
    parts = {
        "style": text_of(Path(report_page.__file__).parent / "page.css") + text_of(here / "report.css"),
        "data": report_page.embedded(facts),
        "script": text_of(here / "report.js"),
    }
    text = re.sub("@@(\\w+)@@", lambda found: parts[found[1]], text_of(here / "report.html"))
    with atomic_writer(Path(folder) / FILE) as stream:
        stream.write(text.encode())
