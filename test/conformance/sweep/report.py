"""Reports of a sweep: the summary `docs/ops.md`, the table of all entries, and the list of known failures."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stock_faults import FAULTS

from sweep.faults import FAULT
from sweep.samples import DTYPES
from sweep.torch_faults import TORCH_FAULTS

KNOWN_FAILURES = Path(__file__).with_name("known.json")

COLUMNS = ("kernel portable", "kernel aten", "portable", "aten", "stock")
TITLES = {
    "kernel portable": "kernels, portable",
    "kernel aten": "kernels, aten",
    "portable": "et-vm portable",
    "aten": "et-vm aten",
    "stock": "stock runtime",
}
STOPS = ("export", "compile")
"""Stages at which a sample can end before it is run."""


@dataclass
class Score:
    """Counts of right results and of all, and reasons of the others; apart from them, those that known faults of the
    stock runtime's kernels made wrong.
    """

    right: int = 0
    total: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    """By the operators that have the faults, as a line."""

    def add(self, outcomes: dict[str, int]) -> None:
        """Count outcomes, "" for those that are right."""
        for reason, count in outcomes.items():
            self.total += count
            if reason.startswith(FAULT):
                self.faults[reason.removeprefix(FAULT)] += count
            elif reason:
                self.reasons[reason] += count
            else:
                self.right += count

    def __str__(self) -> str:
        if not self.total:
            return ""
        faults = f" + {self.faults.total()} faults" if self.faults else ""
        if self.right + self.faults.total() == self.total:
            return f"{self.right}{faults}"
        return f"**{self.right}/{self.total}**{faults}"


@dataclass
class Entry:
    """The outcomes of an entry of the database, all element types together."""

    name: str
    dtypes: list[str] = field(default_factory=list[str])
    samples: int = 0
    scores: dict[str, Score] = field(default_factory=lambda: {column: Score() for column in COLUMNS})
    stops: dict[str, Score] = field(default_factory=lambda: {stop: Score() for stop in STOPS})
    lacking: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """By column, the kernels that its library lacks, as a line, and how many samples need them."""
    examples: dict[str, str] = field(default_factory=dict[str, str])
    short: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Element types by the column or stop that they are short in."""
    died: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every sample had torch's results in every column that applies."""
        return not self.short and "portable" not in self.lacking and self.died is None


def read(folder: Path) -> list[Entry]:
    """The entries whose outcomes are in `folder`, by name."""
    return [_entry(json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]


def _entry(answer: dict[str, Any]) -> Entry:
    entry = Entry(answer["entry"], died=answer.get("died"))
    for dtype, found in answer["types"].items():
        entry.dtypes.append(dtype)
        entry.samples += found["samples"]
        for key, example in found["examples"].items():
            entry.examples.setdefault(key, example)
        for column, outcomes in _columns(found):
            if column.startswith("lacking "):
                entry.lacking.setdefault(column.removeprefix("lacking "), Counter()).update(outcomes)
                continue
            (entry.stops if column in STOPS else entry.scores)[column].add(outcomes)
            if any(reason and not reason.startswith(FAULT) for reason in outcomes):
                entry.short.setdefault(column, []).append(dtype)
    return entry


def _columns(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, int]]]:
    yield from found["end_to_end"].items()
    for key, outcomes in found["kernels"].items():
        yield f"kernel {key.rpartition(' ')[2]}", outcomes


def known(entries: Iterable[Entry]) -> dict[str, dict[str, list[str]]]:
    """The missing samples: for each entry, the element types by column."""
    died = {entry.name: {"died": ["all"]} for entry in entries if entry.died is not None}
    return died | {entry.name: entry.short for entry in entries if entry.short}


def known_failures() -> dict[str, dict[str, list[str]]]:
    """The missing samples when `docs/ops.md` was written, in the form of `known`."""
    found: dict[str, dict[str, list[str]]] = json.loads(KNOWN_FAILURES.read_text())
    return found


def document(entries: list[Entry], limit: int | None) -> str:
    """The text of `docs/ops.md`; `limit` is that of samples for each entry and type."""
    sections = [*_short(entries), *_faults(entries), *_torch_faults(), *_lacking(entries)]
    return "\n".join([*_contents(sections), *_head(entries, limit), *sections, ""])


def _contents(sections: Iterable[str]) -> Iterator[str]:
    yield "# Operator conformance"
    yield ""
    for title in (line.removeprefix("## ") for line in sections if line.startswith("## ")):
        yield f"- [{title}](#{re.sub(r'[^a-z -]', '', title.lower()).replace(' ', '-')})"
    yield ""


def _head(entries: list[Entry], limit: int | None) -> Iterator[str]:
    yield (
        "Results of the last complete `make sweep`, which writes this page, and a table of all entries to "
        "`docs/generated/ops.md`."
    )
    yield ""
    which = "Every sample input" if limit is None else f"Up to {limit} sample inputs, chosen by a seed,"
    yield (
        f"{which} of every entry of torch's operator database (`op_db`), for each of the element types "
        f"{', '.join(DTYPES)}, compared with torch eager: each kernel that the sample calls in eager mode, alone, and "
        "the program end to end, `nn.Module` → `torch.export` → `.pte` → run. The same file runs on `et-vm` with "
        "both kernel libraries and on the stock runtime; where one of them lacks a kernel, the file is compiled for "
        "the others and not run there. Samples that torch itself refuses, and those with sparse or quantized tensors, "
        "do not count. In f16 and bf16, a result is also right if it is as close to torch's in f64 as torch's own: "
        "after cancellation, or a softmax of large numbers, 16 bits allow no closer comparison."
    )
    yield ""
    yield from totals(entries)


def totals(entries: list[Entry]) -> Iterator[str]:
    """The number of right results by column, and of samples by the stage they reached."""
    yield "| | right | of | |"
    yield "|---|---:|---:|---:|"
    for column in COLUMNS:
        right = sum(entry.scores[column].right for entry in entries)
        total = sum(entry.scores[column].total for entry in entries)
        yield f"| {TITLES[column]} | {right:,} | {total:,} | {right / max(total, 1):.2%} |"
    faults = sum(entry.scores["stock"].faults.total() for entry in entries)
    total = sum(entry.scores["stock"].total for entry in entries)
    yield f"| stock runtime, wrong by its own faults | {faults:,} | {total:,} | {faults / max(total, 1):.2%} |"
    samples = sum(entry.samples for entry in entries)
    stopped = {stop: sum(entry.stops[stop].total for entry in entries) for stop in STOPS}
    lacking = {
        column: sum(entry.lacking[column].total() for entry in entries if column in entry.lacking)
        for column in ("stock", "portable")
    }
    yield ""
    yield (
        f"Of {samples:,} samples, {stopped['export']:,} cannot be exported by torch and {stopped['compile']:,} are "
        f"refused by the compiler with a reason. {lacking['stock']:,} need a kernel that the stock runtime lacks, "
        f"{lacking['portable']:,} one that the portable library lacks. Of {len(entries)} entries, "
        f"{sum(entry.is_complete for entry in entries)} are complete."
    )


def _short(entries: list[Entry]) -> Iterator[str]:
    yield ""
    yield "## Exceptions, with reasons"
    yield ""
    for entry in entries:
        if entry.is_complete:
            continue
        yield f"- `{entry.name}`"
        if entry.died is not None:
            yield f"  - the process ended with status {entry.died}"
        for column, score in [*entry.stops.items(), *entry.scores.items()]:
            if score.reasons:
                title = {"export": "torch.export", "compile": "compiler"}.get(
                    column, TITLES.get(column, column)
                )
                yield f"  - {title}, {', '.join(entry.short[column])}: {_reasons(score.reasons)}"
        if "portable" in entry.lacking:
            yield f"  - the portable library has no kernel for {_names(entry.lacking['portable'])}"


def _faults(entries: list[Entry]) -> Iterator[str]:
    yield ""
    yield "## Faults of the stock runtime's kernels"
    yield ""
    yield (
        "`test/conformance/stock_faults.py` lists these kernels with a model of each fault, and a test shows that the "
        "stock runtime gives the results of the model where torch and the VM agree on others. A sample counts as a "
        "fault if the models reproduce the stock runtime's results. *Instead* is the form that the compiler uses to "
        "avoid the kernel, if it does."
    )
    yield ""
    yield "| kernel | types | stock | torch | instead | samples |"
    yield "|---|---|---|---|---|---|"
    short = {torch_name: name for name, dtype in DTYPES.items() for torch_name in [str(dtype)]}
    for fault in FAULTS:
        types = ", ".join(short[f"torch.{kind.torch_name}"] for kind in fault.types)
        found = [
            f"{entry.name} ({count})"
            for entry in entries
            if (
                count := sum(
                    count
                    for names, count in entry.scores["stock"].faults.items()
                    if fault.operator in names.split(", ")
                )
            )
        ]
        yield (
            f"| `{fault.operator}` | {types} | {fault.does} | {fault.torch_does} | {fault.avoided} | "
            f"{', '.join(found)} |"
        )


def _torch_faults() -> Iterator[str]:
    yield ""
    yield "## Faults of torch"
    yield ""
    yield (
        "`test/conformance/sweep/torch_faults.py` lists these entries, and a test shows each against values of high "
        "precision. The portable kernels are compared with torch's results in float64, rounded once; the aten "
        "library calls torch, and is compared with torch's results."
    )
    yield ""
    for fault in TORCH_FAULTS:
        yield f"- `{fault.entry}`, {', '.join(fault.types)}: {fault.does}"


def _lacking(entries: list[Entry]) -> Iterator[str]:
    yield ""
    yield "## Kernels missing from the stock runtime"
    yield ""
    yield "The entries that need each; they run on et-vm. For the stock runtime the compiler reports what is missing."
    yield ""
    needed: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        if "stock" in entry.lacking:
            needed[_names(entry.lacking["stock"])].append(entry.name)
    for names, needing in sorted(needed.items()):
        yield f"- {names}: {', '.join(needing)}"


def _names(lines: Iterable[str]) -> str:
    names = sorted({name for line in lines for name in line.split(", ")})
    return ", ".join(f"`{name}`" for name in names)


def _reasons(reasons: Counter[str]) -> str:
    alike: dict[str, list[str]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for reason, count in reasons.items():
        kind = re.sub(r"-?\b\d+(\.\d+)?(e[-+]?\d+)?\b|\binf\b|\bnan\b", "N", reason)
        alike[kind].append(reason)
        counts[kind] += count
    shown = [f"{count} × {_escaped(alike[kind][0])}" for kind, count in counts.most_common(4)]
    if len(counts) > len(shown):
        shown.append(f"{sum(counts.values()) - sum(n for _, n in counts.most_common(4))} others")
    return "; ".join(shown)


def _escaped(text: str) -> str:
    return f"`{text.replace('`', '')[:200]}`"


def full_table(entries: list[Entry]) -> str:
    """The text of `docs/generated/ops.md`, with a row for each entry."""
    return "\n".join([*_table(entries), ""])


def _table(entries: list[Entry]) -> Iterator[str]:
    yield "# Operator conformance: all entries"
    yield ""
    yield (
        "Written by `make sweep`. Right calls of kernels and right samples; bold, with their total, where some were "
        "not. `compile` and `export` count the samples that end there."
    )
    yield ""
    yield f"| entry | types | samples | export | compile | {' | '.join(TITLES.values())} |"
    yield f"|---|---|{'---:|' * (3 + len(COLUMNS))}"
    for entry in entries:
        if entry.samples or entry.died is not None:
            stops = " | ".join(str(entry.stops[stop].total or "") for stop in STOPS)
            scores = " | ".join(str(entry.scores[column]) for column in COLUMNS)
            yield f"| {entry.name} | {_types(entry.dtypes)} | {entry.samples} | {stops} | {scores} |"


def _types(dtypes: list[str]) -> str:
    missing = [dtype for dtype in DTYPES if dtype not in dtypes]
    return (
        "all" if not missing else f"all but {', '.join(missing)}" if len(missing) < 3 else ", ".join(dtypes)
    )
