"""Plug-in that selects tests: the quick ones, a sample of cases, and what fits into a time budget after a change."""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from dev.shares import choose, read_durations

UNIT = "test/unit/"
SWEPT = 1
"""The most cases of a test that are quick, of tests marked `sweep` and of conformance tests, on each of its routes."""
SECONDS = 0.3
"""Seconds, by test/durations.json, that the quick cases of a test may take together; the first is one in any case."""
LONGEST = {True: 2.0, False: 1.0}
"""Seconds of a case of a unit test, and of a conformance test, from which on no case of it is quick."""
TURN = "QUICK_TURN"
"""Variable of the environment of quick tests: which one of several equal ways to run a test is taken."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help=f"run cases of each test that take {SECONDS} s together, at least one; no more than {SWEPT} of tests that "
        "are marked sweep and of conformance tests; none of tests that take longer, and one of several instruction "
        "sets, which --turn chooses",
    )
    parser.addoption("--beyond-quick", action="store_true", help="leave out what --quick runs")
    parser.addoption(
        "--sample",
        type=int,
        metavar="N",
        help="run N cases of each test, spread evenly over its parameters, and none that are marked slow",
    )
    parser.addoption(
        "--seconds",
        type=float,
        metavar="S",
        help="run what takes S seconds of processor time by test/durations.json: tests near the change of --affected, "
        "and of the others a share that --turn chooses",
    )
    parser.addoption(
        "--affected", type=Path, metavar="FILE", help="distances of test files to a change, by dev.affected"
    )
    parser.addoption("--turn", type=int, default=0, metavar="N", help="which share of the tests, any number")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        os.environ[TURN] = str(config.getoption("--turn"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick") or config.getoption("--beyond-quick"):
        quick = _quick(items)
        is_wanted = config.getoption("--quick")
        _keep(config, items, lambda item: (item in quick) == is_wanted)
    seconds: float | None = config.getoption("--seconds")
    if seconds is not None:
        affected: Path | None = config.getoption("--affected")
        distances = json.loads(affected.read_text(encoding="utf-8")) if affected else {}
        cases = {item.nodeid: _case(item) for item in items}
        layers = choose(cases, distances, read_durations(), seconds, config.getoption("--turn"))
        chosen = {name for layer in layers for name in layer.chosen}
        _keep(config, items, lambda item: item.nodeid in chosen)
        config.stash[LAYERS] = [str(layer) for layer in layers]
    most: int | None = config.getoption("--sample")
    if most is not None:
        kept = _sample(items, lambda item: most)
        _keep(config, items, kept.__contains__)


LAYERS = pytest.StashKey[list[str]]()
"""The layers that were chosen from, to be shown when the run ends."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["layers"] = config.stash.get(LAYERS, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of pytest-xdist has chosen from; all have chosen the same."""
    node.config.stash[LAYERS] = getattr(node, "workeroutput", {}).get("layers", [])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for layer in config.stash.get(LAYERS, []):
        terminalreporter.write_line(layer)


def _quick(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The cases that `make test` runs."""
    durations = read_durations()

    def most(item: pytest.Item) -> int:
        each = durations.get(item.nodeid.partition("[")[0], 0.0)
        if each > LONGEST[item.nodeid.startswith(UNIT)]:
            return 0
        count = int(SECONDS / each) if each else sys.maxsize
        return max(1, min(count, SWEPT) if _is_sampled(item) else count)

    unit = [item for item in items if not _is_sampled(item)]
    return _sample([item for item in items if _is_sampled(item)], most) | _sample(unit, most, with_slow=True)


def _is_sampled(item: pytest.Item) -> bool:
    return not item.nodeid.startswith(UNIT) or item.get_closest_marker("sweep") is not None


def _sample(
    items: Iterable[pytest.Item], most: Callable[[pytest.Item], int], *, with_slow: bool = False
) -> set[pytest.Item]:
    """At most so many cases of each test on each of its routes, spread evenly, and none that are marked slow."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if with_slow or not item.get_closest_marker("slow"):
            cases[f"{item.nodeid.partition('[')[0]} {_route(item)}"].append(item)
    kept: set[pytest.Item] = set()
    for each in cases.values():
        count = min(most(each[0]), len(each))
        kept.update(each[at * len(each) // count] for at in range(count))
    return kept


def _route(item: pytest.Item) -> str:
    """The route of the case, where a test runs each of its cases on several: each counts as a test of its own."""
    call = getattr(item, "callspec", None)
    return "" if call is None else str(call.params.get("route", ""))


def _case(item: pytest.Item) -> str:
    """The name of the case, the same on all its routes, which share what is made of it."""
    return item.nodeid.removesuffix(f"-{_route(item)}]")


def _keep(config: pytest.Config, items: list[pytest.Item], is_kept: Callable[[pytest.Item], bool]) -> None:
    kept = [item for item in items if is_kept(item)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if not is_kept(item)])
    items[:] = kept
