"""Report of ops left undelegated, with reasons.

It lists each op with its source line, and sums up by reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import LocationAttr

from et_ir.delegation.refusals import Refusal
from et_ir.locations import frames_of, module_path, source_line

__all__ = ["DelegationReport", "LeftOut"]


@dataclass(frozen=True)
class LeftOut:
    """An op that is in no partition."""

    method: str
    op_name: str
    location: LocationAttr
    refusals: tuple[Refusal, ...]
    """Refusals of each partitioner, in query order."""


@dataclass
class DelegationReport:
    """Delegation summary of a program."""

    partitions: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    """Method, backend and number of ops of each partition."""
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])

    @property
    def delegated(self) -> int:
        """Number of delegated ops."""
        return sum(count for _, _, count in self.partitions)

    def by_reason(self) -> list[tuple[str, int, list[tuple[str, int]]]]:
        """Each reason with the number of ops it holds for, most first, and how many of each operator these are."""
        ops: dict[str, Counter[str]] = {}
        for one in self.left_out:
            for refusal in one.refusals:
                ops.setdefault(refusal.reason, Counter())[one.op_name] += 1
        rows = [(reason, counts.total(), counts.most_common()) for reason, counts in ops.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    def text(self) -> str:
        """The report as lines to read."""
        total = self.delegated + len(self.left_out)
        lines = [f"{self.delegated} of {total} ops delegated, in {_count(len(self.partitions), 'partition')}"]
        several = len({one.method for one in self.left_out} | {name for name, _, _ in self.partitions}) > 1
        for one in self.left_out:
            reasons = "; ".join(map(str, one.refusals))
            method = f"@{one.method}: " if several else ""
            lines.append(f"{source_line(one.location)}: {method}{one.op_name}: {reasons}")
        if self.left_out:
            lines.append("by reason:")
        for reason, count, ops in self.by_reason():
            names = ", ".join(name if times == 1 else f"{name} x{times}" for name, times in ops)
            lines.append(f"{count:>6}  {reason}: {names}")
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
                    "method": one.method,
                    "op": one.op_name,
                    "module": module_path(one.location),
                    "source": [
                        {"file": f.filename, "line": f.lineno, "function": f.name, "code": f.context}
                        for f in frames_of(one.location)
                    ],
                    "reasons": [{"reason": r.reason, "detail": r.detail} for r in one.refusals],
                }
                for one in self.left_out
            ],
            "by_reason": [
                {"reason": reason, "ops": count, "operators": dict(ops)}
                for reason, count, ops in self.by_reason()
            ],
        }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
