"""Profiles in a report: what `et-vm profile --json` prints, checked against a program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from et_schema.errors import InvalidFile, access_failed

__all__ = ["profile_facts", "read_json"]

HINT: Final = "et-vm profile --json prints one; without --by, it has a row per instruction"


def read_json(file: str, what: str, hint: str = "") -> Any:
    """The contents of a JSON file; `hint` says where one is from. Raises ExecutorchError(AccessFailed), or InvalidFile:
    `no WHAT`.
    """
    try:
        return json.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        raise access_failed(file, error) from error
    except UnicodeDecodeError as error:
        raise InvalidFile(f"no {what}: not a text in UTF-8", where=file, hint=hint) from error
    except ValueError as error:
        raise InvalidFile(f"no {what}: {error}", where=file, hint=hint) from error
    except RecursionError as error:
        raise InvalidFile(f"no {what}: it is nested too deeply", where=file) from error


def profile_facts(profile: Any, file: str, program: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a profile of this program for a report; `file` is where it was read.

    Raises InvalidFile for what is no profile, or one of another program.
    """
    try:
        method, rows, total = str(profile["method"]), profile["rows"], profile["total_ns"]
        kept = [_row(row) for row in rows]
        found = {
            "method": method,
            "repeat": int(profile["repeat"]),
            **{f"{name}_ns": float(total[name]) for name in ("min", "median", "p90")},
            "load_ns": {str(phase): int(time) for phase, time in profile["load_ns"].items()},
            "memory": {str(label): int(size) for label, size in profile["memory"].items()},
            "planned_bytes": int(profile["planned_bytes"]),
            "peak_resident_bytes": _optional(profile["peak_resident_bytes"], int),
            "peak": _optional(profile["peak"], _peak),
            "rows": kept,
        }
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InvalidFile("no profile of instructions", where=file, hint=HINT) from error
    listed = {one["name"]: one["instructions"] for one in program["methods"]}.get(method)
    if listed is None or any(
        not 0 <= row["instruction"] < len(listed) or listed[row["instruction"]]["op"] != row["name"]
        for row in kept
    ):
        raise InvalidFile("the profile is of another program", where=file)
    return found


def _row(row: Any) -> dict[str, Any]:
    return {
        "instruction": int(row["instruction"]),
        "name": str(row["name"]),
        "calls": int(row["calls"]),
        **{key: _optional(row[key], int) for key in ("bytes_read", "bytes_written", "flops")},
        **{key: _optional(row[key], float) for key in ("gflops", "gbps", "roofline")},
        **{key: float(row[key]) for key in ("min_ns", "median_ns", "p90_ns")},
        "events": [
            {
                "name": str(one["name"]),
                "module": str(one.get("module", "")),
                **{key: float(one[key]) for key in ("min_ns", "median_ns")},
                **{key: _optional(one[key], float) for key in ("gflops", "gbps", "roofline")},
            }
            for one in row.get("events", ())
        ],
    }


def _peak(peak: Any) -> dict[str, Any]:
    sets = [{"bytes": int(one["bytes"]), "gbps": float(one["gbps"])} for one in peak["bandwidths"]]
    if not sets or not float(peak["gflops"]) > 0 or not all(one["gbps"] > 0 for one in sets):
        raise ValueError("a peak is positive")
    return {
        "processor": str(peak["processor"]),
        "threads": int(peak["threads"]),
        "how": str(peak["how"]),
        "gflops": float(peak["gflops"]),
        "bandwidths": sets,
    }


def _optional(value: Any, convert: Any) -> Any:
    return None if value is None else convert(value)
