"""A slice of the sweep over torch's samples: one of each entry in three element types. `make sweep` runs them
all.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from stock import StockRuntime
from sweep.end_to_end import run_sample
from sweep.faults import FAULT
from sweep.kernels import replay
from sweep.report import known_failures
from sweep.samples import DTYPES, entries, samples

KNOWN_FAILURES = known_failures()


def _dtypes(entry: str) -> list[str]:
    """f32, i64, and another that depends on the entry."""
    others = [dtype for dtype in DTYPES if dtype not in ("f32", "i64")]
    return ["f32", "i64", random.Random(entry).choice(others)]


def _unexpected(entry: str, dtype: str, column: str, reasons: Iterable[str]) -> list[str]:
    if dtype in KNOWN_FAILURES.get(entry, {}).get(column, ()):
        return []
    if column.startswith("lacking "):
        return []
    # What the stock runtime does wrong by itself is proven by test_stock_faults.py.
    return [f"{column}: {reason}" for reason in reasons if reason and not reason.startswith(FAULT)]


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_slice(entry: str, stock: StockRuntime) -> None:
    """A sample gives torch's results everywhere, unless docs/ops.md says why not."""
    if "died" in KNOWN_FAILURES.get(entry, {}):
        pytest.fail("a process died of this entry")
    wrong: list[str] = []
    for dtype in _dtypes(entry):
        for sample in samples(entry, dtype, limit=1):
            found = {column: [why] for column, why in run_sample(sample, stock).items()}
            if not sample.random:
                for key, reasons in replay(sample).items():
                    found.setdefault(f"kernel {key.rpartition(' ')[2]}", []).extend(reasons)
            for column, reasons in found.items():
                wrong += [f"{sample}: {line}" for line in _unexpected(entry, dtype, column, reasons)]
    assert not wrong, "\n".join(wrong)
