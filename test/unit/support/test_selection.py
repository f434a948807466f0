"""Selection of quick tests: within seconds of each test, on each route, and a sample of conformance tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import selection

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.parametrize("case", range(10))
def test_cheap(case): pass

@pytest.mark.parametrize("case", range(10))
def test_dear(case): pass

@pytest.mark.parametrize("case", range(10))
def test_dearest(case): pass

@pytest.mark.sweep
@pytest.mark.parametrize("route", ["a", "b"])
@pytest.mark.parametrize("case", range(10))
def test_routes(case, route): pass

@pytest.mark.slow
def test_slow(): pass

def test_long(): pass
"""
DURATIONS = {"test_cheap": 0.01, "test_dear": 0.14, "test_dearest": 0.9, "test_long": 7.0}


@pytest.fixture
def collected(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Names of the tests, by folder and option."""
    found: dict[str, set[str]] = {}
    pytester.makeini("[pytest]\nmarkers =\n    sweep\n    slow\n")
    for folder in ("test/unit", "test/conformance"):
        place = pytester.path / folder
        place.mkdir(parents=True)
        path = place / "test_some.py"
        path.write_text(TESTS, encoding="utf-8")
        durations = {f"{folder}/test_some.py::{name}": each for name, each in DURATIONS.items()}
        monkeypatch.setattr(selection, "read_durations", lambda durations=durations: durations)
        for option in ("--quick", "--beyond-quick"):
            result = pytester.inline_run(
                "-p", "support.selection", "--rootdir", str(pytester.path), option, str(path)
            )
            passed = result.listoutcomes()[0]
            found[f"{Path(folder).name} {option}"] = {each.nodeid.partition("::")[2] for each in passed}
    return found


def test_quick_tests(collected: dict[str, set[str]]) -> None:
    unit, conformance = collected["unit --quick"], collected["conformance --quick"]

    def count(names: set[str], test: str) -> int:
        return sum(name.startswith(test) for name in names)

    counts = {
        test: count(unit, test)
        for test in ("test_cheap", "test_dear[", "test_dearest", "test_slow", "test_long")
    }
    assert counts == {"test_cheap": 10, "test_dear[": 2, "test_dearest": 1, "test_slow": 1, "test_long": 0}
    counts = {test: count(conformance, test) for test in ("test_cheap", "test_dearest", "test_slow")}
    assert counts == {"test_cheap": 1, "test_dearest": 1, "test_slow": 0}
    for names in (unit, conformance):
        assert sum(name.endswith("a]") for name in names) == sum(name.endswith("b]") for name in names) == 1


def test_quick_tests_and_the_others_are_all(collected: dict[str, set[str]]) -> None:
    for folder in ("unit", "conformance"):
        quick, others = collected[f"{folder} --quick"], collected[f"{folder} --beyond-quick"]
        assert not quick & others
        assert len(quick | others) == 52
