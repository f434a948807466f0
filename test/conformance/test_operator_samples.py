"""Torch's samples of operators on every route: each is exported once, and goes through every back end.

The route `kernels` is all of a program on every runtime's kernels; the others are those of `sweep/routes.py`.
`make sweep` runs all samples on the kernels.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from stock import StockRuntime
from sweep.end_to_end import run_sample
from sweep.faults import FAULT
from sweep.kernels import replay
from sweep.programs import SamplePrograms
from sweep.report import known_failures
from sweep.routes import ROUTES
from sweep.samples import DTYPES, entries, samples

from et_backends.openvino.compiler import blob, export_model

KNOWN_FAILURES = known_failures()
CASES = [
    pytest.param(entry, route, id=f"{entry}-{route}")
    for entry in entries()
    for route in ("kernels", *(name for name, one in ROUTES.items() if one.takes(entry)))
]


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> SamplePrograms:
    """The samples' programs, kept from run to run."""
    return SamplePrograms(pytestconfig.cache.mkdir("samples"))


@pytest.fixture(autouse=True)
def _openvino_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each model: that changes the names of nodes alone."""
    monkeypatch.setattr(blob, "export_apart", export_model.export)


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


def _wrong_on_kernels(entry: str, programs: SamplePrograms, stock: StockRuntime) -> list[str]:
    """Results that are not torch's on a runtime or a kernel, unless docs/ops.md says why not."""
    if "died" in KNOWN_FAILURES.get(entry, {}):
        pytest.fail("a process died of this entry")
    wrong: list[str] = []
    for dtype in _dtypes(entry):
        for sample in samples(entry, dtype, limit=1):
            found = {column: [why] for column, why in run_sample(sample, stock, programs).items()}
            if not sample.random:
                for key, reasons in replay(sample).items():
                    found.setdefault(f"kernel {key.rpartition(' ')[2]}", []).extend(reasons)
            for column, reasons in found.items():
                wrong += [f"{sample}: {line}" for line in _unexpected(entry, dtype, column, reasons)]
    return wrong


@pytest.mark.sweep
@pytest.mark.parametrize(("entry", "route"), CASES)
def test_samples(
    entry: str, route: str, programs: SamplePrograms, stock: StockRuntime, tmp_path: Path
) -> None:
    if route == "kernels":
        wrong = _wrong_on_kernels(entry, programs, stock)
    else:
        wrong = ROUTES[route].wrong(entry, programs, tmp_path)
    assert not wrong, "\n".join(wrong)
