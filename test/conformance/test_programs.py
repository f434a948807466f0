"""Every program of the registry on every route that takes it, against eager: see `routes/`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark import ParameterSet
from routes.cases import CASES, prepared
from routes.expected import EXPECTED
from routes.routes import ROUTES
from stock import StockRuntime

from et_backends.openvino.compiler import blob, export_model


@pytest.fixture(autouse=True)
def _openvino_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each model: that changes the names of nodes alone."""
    monkeypatch.setattr(blob, "export_apart", export_model.export)


OWN: Final = frozenset({"fused", "numbers", "resizes", "scalars"})
"""Families of generated programs, which have tests, and so quick cases, of their own."""


def _cases(*families: str) -> list[ParameterSet]:
    """The programs of some families on the routes that take them."""
    return [
        pytest.param(name, route, id=f"{name}-{route}")
        for name, case in CASES.items()
        for route, way in ROUTES.items()
        if case.family in families and case.family in way.families
    ]


@pytest.mark.sweep
@pytest.mark.parametrize(("case", "route"), _cases(*{case.family for case in CASES.values()} - OWN))
def test_results(case: str, route: str, stock: StockRuntime, tmp_path: Path) -> None:
    check(case, route, stock, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize(("case", "route"), _cases("fused"))
def test_fused_operands(case: str, route: str, stock: StockRuntime, tmp_path: Path) -> None:
    """Operands of kernels by every shape that is broadcast to theirs."""
    check(case, route, stock, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize(("case", "route"), _cases("numbers"))
def test_numbers(case: str, route: str, stock: StockRuntime, tmp_path: Path) -> None:
    """Numbers at the ends of their types."""
    check(case, route, stock, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize(("case", "route"), _cases("scalars"))
def test_scalars(case: str, route: str, stock: StockRuntime, tmp_path: Path) -> None:
    """Operators by element types by Python numbers."""
    check(case, route, stock, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize(("case", "route"), _cases("resizes"))
def test_resizes(case: str, route: str, stock: StockRuntime, tmp_path: Path) -> None:
    """Ways of interpolation by factors and sizes."""
    check(case, route, stock, tmp_path)


def check(case: str, route: str, stock: StockRuntime, tmp_path: Path) -> None:
    """Compare a program on a route with eager, or its failure with the expected one."""
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
