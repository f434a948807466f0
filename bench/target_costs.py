"""Measurement of a target's kernel cost table, `et_ir/targets/<target>-costs.toml`.

    python -m bench.target_costs stock-1.5              # print the table
    python -m bench.target_costs stock-1.5 --write      # and check it in
    python -m bench.target_costs stock-1.5 --samples    # each sample, measured and as the table has it

Each kernel is executed on some shapes that models have, many times in one program; its time is that program's less that
of one without instructions. The table has the times per call, multiplication, element read, element written and
line written, none of them negative, that come closest to the samples by their relative errors. It is processor time
of one thread, the least of some executions, in f32. What matters is how forms of an operator compare on the shapes of
models; where a sample is far off, as copies are that do not fit in the cache, so is what the compiler believes of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bench.measure import print_table, set_threads, show_time
from et_ir.targets.lookup import DEFAULT

COMMAND = "python -m bench.target_costs"
ENOUGH = 0.02
"""Seconds that the calls of a sample should take together."""
MOST_CALLS = 20_000
ATTEMPTS = 8
EXECUTIONS = 4
WORTH = 0.01
"""By how much of the error another term has to lower it to be in a table."""


@dataclass(frozen=True)
class Sample:
    """A call of a kernel: its work, and how long it took."""

    shapes: str
    work: Any
    seconds: float


def samples(target: str, only: str) -> Iterable[Sample]:
    """Measure the calls of `bench.target_calls` on a target."""
    from bench.target_calls import calls, program_of, runner
    from et_ir.analysis.cost_model import work_of

    for call in calls(target):
        work = work_of(call.op)
        if only not in work.kernel:
            continue
        run = runner(target, program_of(call))
        yield Sample(call.shapes, work, _seconds(run, f"{work.kernel} {call.shapes}"))


def _seconds(run: Callable[[int], float], name: str) -> float:
    """The time of one call, by a program of so many that a program of none is nothing beside it.

    Raises `RuntimeError` where it is not, however often it is tried: the machine does too much else.
    """
    count = 1
    for _ in range(ATTEMPTS):
        nothing, all_ = (min(run(times) for _ in range(EXECUTIONS)) for times in (0, count))
        if all_ - nothing > max(nothing, ENOUGH) or (count == MOST_CALLS and all_ > 1.5 * nothing):
            return (all_ - nothing) / count
        wanted = ENOUGH * 1.5 / max((all_ - nothing) / count, ENOUGH / MOST_CALLS)
        count = min(MOST_CALLS, max(2 * count, int(wanted)))
    raise RuntimeError(f"{name} cannot be measured while the machine does other work")


def terms_of(kernel: str) -> tuple[str, ...]:
    """The terms of a kernel's time. Products read each element more than once, copies do not."""
    if "convolution" in kernel:
        return ("call", "mac") if kernel.endswith("depthwise") else ("call", "mac", "written")
    if "bmm" in kernel:
        return ("call", "mac", "read", "written", "line")
    if "mm" in kernel or "linear" in kernel:
        return ("call", "mac", "read", "written")
    if "permute" in kernel or "transpose" in kernel:
        return ("call", "written")
    return ("call", "read", "line") if "pool" in kernel else ("call", "written", "line")


def fitted(found: list[Sample]) -> Any:
    """The cost that comes closest to samples of a kernel, by the squares of relative errors.

    The smallest subset of terms is taken whose error is not much above the least.
    """
    from et_ir.targets.costs import TERMS, KernelCost

    seconds = np.array([sample.seconds for sample in found])
    counts = np.array(
        [[1, s.work.macs, s.work.read, s.work.written, s.work.lines] for s in found], dtype=float
    )
    rows = counts / seconds[:, None]
    best: tuple[float, tuple[int, ...], Any] | None = None
    places = [TERMS.index(term) for term in terms_of(found[0].work.kernel)]
    for size in range(1, len(places) + 1):
        for terms in combinations(places, size):
            times, *_ = np.linalg.lstsq(rows[:, terms], np.ones(len(found)), rcond=None)
            if (times < 0).any():
                continue
            error = float(np.sqrt(np.mean((rows[:, terms] @ times - 1) ** 2)))
            if best is None or error < best[0] - (WORTH if size > len(best[1]) else 0):
                best = error, terms, times
    if best is None:
        raise ValueError("times are never negative, so that one term always fits")
    _, terms, times = best
    return KernelCost(
        **{TERMS[term]: float(f"{time * 1e9:.3g}") for term, time in zip(terms, times, strict=True)}
    )


def table_text(target: str, costs: dict[str, Any]) -> str:
    """The table as it is checked in."""
    from et_ir.targets.costs import TERMS

    lines = [
        f"# Nanoseconds of kernels of {target}: per call, multiplication, element read, element and line written.",
        f"# Regenerate: {COMMAND} {target} --write",
    ]
    for name, cost in sorted(costs.items()):
        times = ", ".join(f"{term} = {getattr(cost, term):g}" for term in TERMS if getattr(cost, term))
        lines.append(f'"{name}" = {{ {times} }}')
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=[DEFAULT, "et-vm", "et-vm-aten"])
    parser.add_argument("--write", action="store_true", help="write the table to its place")
    parser.add_argument("--samples", action="store_true", help="print each sample")
    parser.add_argument(
        "--only", default="", help="kernels whose name has this in it; with --write, the others stay"
    )
    options = parser.parse_args()
    set_threads(1)  # which is why nothing above imports torch
    from et_ir.targets.lookup import find_target

    groups: dict[str, list[Sample]] = {}
    for sample in samples(options.target, options.only):
        groups.setdefault(sample.work.kernel, []).append(sample)
    costs = {name: fitted(found) for name, found in groups.items()}
    if options.samples:
        rows = [
            [
                name,
                sample.shapes,
                show_time(sample.seconds),
                show_time(costs[name].seconds(sample.work)),
                f"{costs[name].seconds(sample.work) / sample.seconds:.2f}",
            ]
            for name, found in sorted(groups.items())
            for sample in found
        ]
        print_table(["kernel", "shapes", "measured", "table", "ratio"], rows)
        print()
    target = find_target(options.target)
    before = target.costs if options.only else None
    text = table_text(options.target, {**(before.kernels if before else {}), **costs})
    print(text, end="")
    if options.write:
        assert target.tables.costs is not None
        target.tables.costs.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
