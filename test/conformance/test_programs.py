"""Every program of the registry on every route that takes it, against eager: see `routes/`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from routes.cases import CASES, prepared
from routes.expected import EXPECTED
from routes.routes import ROUTES
from stock import StockRuntime

from et_ir.backends.openvino import blob, export_model


@pytest.fixture(autouse=True)
def _openvino_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each model: that changes the names of nodes alone."""
    monkeypatch.setattr(blob, "export_apart", export_model.export)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("case", "route"),
    [
        pytest.param(name, route, id=f"{name}-{route}")
        for name, case in CASES.items()
        for route, way in ROUTES.items()
        if case.family in way.families
    ],
)
def test_results(case: str, route: str, stock: StockRuntime, tmp_path: Path) -> None:
    program = prepared(case)
    expected = EXPECTED.get((case, route))
    try:
        with warnings.catch_warnings(action="ignore"):
            reason = ROUTES[route].wrong(CASES[case], program, stock, tmp_path)
    except Exception as error:
        if expected is None:
            raise
        reason = f"{type(error).__name__}: {error}"
    if expected is None:
        assert reason is None, reason
    else:
        assert reason is not None, f"expected to fail, but does not: {expected.limit}"
        assert re.search(expected.message, reason), reason


def test_expected_failures_are_of_cases_and_routes() -> None:
    for case, route in EXPECTED:
        assert CASES[case].family in ROUTES[route].families
