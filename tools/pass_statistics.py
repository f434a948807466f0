"""Statistics of the passes of a pipeline, for `--pass-statistics`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["PassStatistics", "statistics_report"]


@dataclass(frozen=True)
class PassStatistics:
    """A pass that ran: the ops of the module before and after it, and the rewrites of each of its patterns."""

    name: str
    before: int
    after: int
    rewrites: Mapping[str, int]


def statistics_report(passes: Sequence[PassStatistics]) -> Iterator[str]:
    """The lines of a table: a row for each pass, and one below it for each pattern that rewrote anything."""
    yield f"{'pass':<40} {'ops before':>10} {'after':>10} {'rewrites':>10}"
    for one in passes:
        yield f"{one.name:<40} {one.before:>10} {one.after:>10} {sum(one.rewrites.values()):>10}"
        for pattern, count in sorted(one.rewrites.items(), key=lambda row: (-row[1], row[0])):
            yield f"  {pattern:<60} {count:>12}"
