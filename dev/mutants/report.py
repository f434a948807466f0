"""Shares of caught faults, escaped faults, and comparison of two runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

__all__ = ["caught", "compare", "equivalents", "identity", "summary"]

_WIDTH: Final = 80
_CONTEXT: Final = 20

Row: TypeAlias = Mapping[str, Any]
"""A fault with its results, as in results.json: `fault`, `area`, `quick`, and `full` if that was asked for."""


def identity(fault: Mapping[str, Any]) -> tuple[Any, ...]:
    """What identifies a fault in two runs."""
    return tuple(fault[name] for name in ("path", "function", "kind", "before", "after", "ordinal"))


def equivalents(path: Path) -> dict[tuple[Any, ...], str]:
    """Faults that change no behaviour, with the reason, from a JSON list of faults with a `reason` each."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return {identity(row): row["reason"] for row in rows}


def summary(rows: Sequence[Row], equivalent: Mapping[tuple[Any, ...], str]) -> Iterator[str]:
    """Lines of the report."""
    counted = [row for row in rows if identity(row["fault"]) not in equivalent]
    selections = [name for name in ("quick", "full") if any(name in row for row in rows)]
    yield f"{len(rows)} faults, {len(rows) - len(counted)} of them equivalent by review"
    for name in selections:
        done = [row for row in counted if caught(row, name) or name in row]
        found = [row for row in done if caught(row, name)]
        share = 100 * len(found) / len(done) if done else 0.0
        reached = sum(1 for row in done if caught(row, name) or row[name]["reaching"])
        yield f"{name}: {len(found)} of {len(done)} caught ({share:.1f} %), {reached} reached"
        for part in ("area", "kind"):
            totals = Counter(_part(row, part) for row in done)
            caught_of = Counter(_part(row, part) for row in found)
            yield f"  by {part}: " + ", ".join(
                f"{each} {caught_of[each]}/{totals[each]}" for each in sorted(totals)
            )
        how = Counter(row[name]["how"] for row in found if name in row and row[name]["caught"])
        yield "  by outcome: " + ", ".join(f"{each} {count}" for each, count in sorted(how.items()))
    last = selections[-1:]
    for name in last:
        escaped = [row for row in counted if name in row and not caught(row, name)]
        if escaped:
            yield f"escaped ({name}):"
        for row in escaped:
            result = row[name]
            reach = f"{result['reaching']} tests reach it" if result["reaching"] else "not reached"
            if result["limited"]:
                reach += ", more may depend on it"
            yield f"  {_text(row)}  [{reach}]"
    unreliable = sorted(
        {test for row in rows for name in selections if name in row for test in row[name]["unreliable"]}
    )
    if unreliable:
        yield "failed with a fault and again without it: " + ", ".join(unreliable)


def compare(old: Sequence[Row], new: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Faults that were caught in the first run only, and in the second only, of those that both tried."""
    before = {identity(row["fault"]): row for row in old}
    lost: list[str] = []
    gained: list[str] = []
    for row in new:
        other = before.get(identity(row["fault"]))
        if other is None:
            continue
        for name in ("quick", "full"):
            if not (_tried(row, name) and _tried(other, name)):
                continue
            if caught(other, name) and not caught(row, name):
                lost.append(f"{name}: {_text(row)}  [{_by(other, name)}]")
            elif caught(row, name) and not caught(other, name):
                gained.append(f"{name}: {_text(row)}  [{_by(row, name)}]")
    return lost, gained


def caught(row: Row, selection: str) -> bool:
    """Whether a selection catches a fault; the full one does what the quick one does."""
    return (selection in row and row[selection]["caught"]) or (
        selection == "full" and "quick" in row and row["quick"]["caught"]
    )


def _tried(row: Row, selection: str) -> bool:
    return caught(row, selection) or selection in row


def _by(row: Row, selection: str) -> str:
    result = row[selection] if selection in row and row[selection]["caught"] else row["quick"]
    return f"{result['how']}: {result['by']}"


def _part(row: Row, part: str) -> str:
    return row["area"] if part == "area" else row["fault"]["kind"]


def _text(row: Row) -> str:
    fault = row["fault"]
    before, after = _different(fault["before"], fault["after"])
    return f"{fault['path']}:{fault['line']} {fault['function'] or 'module'}: {fault['kind']}: {before} -> {after}"


def _different(before: str, after: str) -> tuple[str, str]:
    """Two texts around their difference."""
    if max(len(before), len(after)) <= _WIDTH:
        return before, after
    same = _common(before, after)
    rest = _common(before[len(same) :][::-1], after[len(same) :][::-1])
    first = max(0, len(same) - _CONTEXT)

    def part(text: str) -> str:
        last = min(len(text), len(text) - len(rest) + _CONTEXT)
        middle = text[first:last]
        short = middle if len(middle) <= _WIDTH else f"{middle[: _WIDTH // 2]} ... {middle[-_WIDTH // 2 :]}"
        return f"{'...' if first else ''}{short}{'...' if last < len(text) else ''}"

    return part(before), part(after)


def _common(one: str, other: str) -> str:
    """The longest common prefix."""
    size = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one[:size]
