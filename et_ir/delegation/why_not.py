"""Report of ops left undelegated, with reasons.

It lists each op with its source line, and sums up by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from et_schema.diagnostics import Diagnostic
from et_schema.html_table import html_table
from et_schema.wording import in_words

__all__ = ["DelegationReport"]


@dataclass
class DelegationReport:
    """Delegation summary of a program."""

    partitions: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    """Method, backend and number of ops of each partition."""
    left_out: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """The ops that are in no partition: their paths are the methods, their notes what each partitioner says, in the
    order in which they were asked.
    """
    failures: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """What partitioners and backends raised, each with its op: that is left to other backends, or to kernels."""

    @property
    def delegated(self) -> int:
        """Number of delegated ops."""
        return sum(count for _, _, count in self.partitions)

    def by_reason(self) -> list[tuple[str, int, list[tuple[str, int]]]]:
        """Each reason with the number of ops it holds for, most first, and how many of each operator these are."""
        ops: dict[str, Counter[str]] = {}
        for one in self.left_out:
            for note in one.notes:
                ops.setdefault(note.message, Counter())[one.subject] += 1
        rows = [(reason, counts.total(), counts.most_common()) for reason, counts in ops.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    @property
    def summary(self) -> str:
        """How much is delegated: `3 of 4 ops delegated, in 1 partition`."""
        total = self.delegated + len(self.left_out)
        partitions = in_words(len(self.partitions), "partition")
        return f"{self.delegated} of {in_words(total, 'op')} delegated, in {partitions}"

    def __repr__(self) -> str:
        failed = f", {in_words(len(self.failures), 'failure')}" if self.failures else ""
        return f"<{type(self).__name__}: {self.summary}{failed}>"

    def __str__(self) -> str:
        return self.text()

    def html(self) -> str:
        """Display in notebooks: the partitions, and the reasons for what is in none."""
        delegated = [(f"@{method}", backend, f"{ops:,}") for method, backend, ops in self.partitions]
        left = [(reason, _operators(ops), f"{count:,}") for reason, count, ops in self.by_reason()]
        return (
            f"<p>{escape(self.summary)}</p>"
            + (html_table(("method", "backend", "ops"), delegated) if delegated else "")
            + (html_table(("reason", "operators", "ops"), left) if left else "")
            + "".join(f"<p>{escape(str(failure))}</p>" for failure in self.failures)
        )

    def _repr_html_(self) -> str:
        return self.html()

    def text(self) -> str:
        """The report as lines to read."""
        lines = [self.summary]
        several = (
            len({one.place.path for one in self.left_out} | {f"@{name}" for name, _, _ in self.partitions})
            > 1
        )
        for one in self.left_out:
            reasons = "; ".join(note.text for note in one.notes)
            method = f"{one.place.path}: " if several else ""
            lines.append(f"{one.place.source}: {method}{one.subject}: {reasons}")
        if self.left_out:
            lines.append("by reason:")
        for reason, count, ops in self.by_reason():
            lines.append(f"{count:>6}  {reason}: {_operators(ops)}")
        return "\n".join(lines) + "\n"

    def json(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "delegated": self.delegated,
            "partitions": [
                {"method": method, "backend": backend, "ops": count}
                for method, backend, count in self.partitions
            ],
            "left_out": [
                {
                    "method": one.place.path.removeprefix("@"),
                    "op": one.subject,
                    "module": one.place.module,
                    "source": one.place.json(),
                    "reasons": [{"reason": note.message, "detail": note.detail} for note in one.notes],
                }
                for one in self.left_out
            ],
            "by_reason": [
                {"reason": reason, "ops": count, "operators": dict(ops)}
                for reason, count, ops in self.by_reason()
            ],
        }


def _operators(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(name if times == 1 else f"{name} x{times}" for name, times in counts)
