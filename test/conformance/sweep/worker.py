"""A process that sweeps entries: names on standard input, outcomes as JSON on standard output, a line each.

In a process of its own because some calls end it, and others go on for longer than anybody waits.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from typing import Any

import torch
from stock import StockRuntime

from sweep.end_to_end import run_sample
from sweep.kernels import replay
from sweep.programs import SamplePrograms
from sweep.samples import DTYPES, Sample, samples

PATIENCE = 60
"""Seconds for one sample."""


class _TooLongError(Exception):
    pass


def _alarm(number: int, frame: object) -> None:
    raise _TooLongError(f"more than {PATIENCE} s")


def sweep(entry: str, limit: int | None, stock: StockRuntime, programs: SamplePrograms) -> dict[str, Any]:
    """All outcomes of an entry, for each element type: how often each outcome, and the first sample with it."""
    found: dict[str, Any] = {}
    for dtype in DTYPES:
        count = 0
        end_to_end: dict[str, Counter[str]] = {}
        kernels: dict[str, Counter[str]] = {}
        examples: dict[str, str] = {}
        for sample in samples(entry, dtype, limit):
            count += 1
            signal.alarm(PATIENCE)
            try:
                _add(
                    end_to_end,
                    {column: [why] for column, why in run_sample(sample, stock, programs).items()},
                    sample,
                    examples,
                )
                _add(kernels, {} if sample.random else replay(sample), sample, examples)
            except _TooLongError as problem:
                _add(end_to_end, {"compile": [str(problem)]}, sample, examples)
            finally:
                signal.alarm(0)
        if count:
            found[dtype] = {
                "samples": count,
                "end_to_end": end_to_end,
                "kernels": kernels,
                "examples": examples,
            }
    return found


def _add(
    table: dict[str, Counter[str]], outcomes: dict[str, list[str]], sample: Sample, examples: dict[str, str]
) -> None:
    for column, reasons in outcomes.items():
        table.setdefault(column, Counter()).update(reasons)
        for reason in filter(None, reasons):
            examples.setdefault(f"{column} {reason}", str(sample))


def main() -> None:
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else None
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _alarm)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not end up among the answers
    programs = SamplePrograms()
    with StockRuntime() as stock:
        for line in sys.stdin:
            entry = line.rstrip("\n")
            started = time.monotonic()
            found = sweep(entry, limit, stock, programs)
            answers.write(
                json.dumps({"entry": entry, "seconds": time.monotonic() - started, "types": found}) + "\n"
            )
            answers.flush()


if __name__ == "__main__":
    main()
