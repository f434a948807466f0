"""Plug-in that selects tests: samples of cases, and what fits into a time budget after a change."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dev.shares import choose, read_durations

UNIT = "test/unit/"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample",
        type=int,
        metavar="N",
        help="run N cases of each test, spread evenly over its parameters, and none that are marked slow",
    )
    parser.addoption(
        "--sample-sweeps",
        type=int,
        metavar="N",
        help="the same of tests that are marked sweep; others run whole",
    )
    parser.addoption(
        "--beyond-sample",
        type=int,
        metavar="N",
        help="leave out what other runs have with N: --sample-sweeps of test/unit, and --sample of the rest",
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    beyond: int | None = config.getoption("--beyond-sample")
    if beyond is not None:
        others = _sample(
            [item for item in items if not item.nodeid.startswith(UNIT) or _is_sweep(item)], beyond
        )
        others.update(item for item in items if item.nodeid.startswith(UNIT) and not _is_sweep(item))
        _keep(config, items, lambda item: item not in others)
    seconds: float | None = config.getoption("--seconds")
    if seconds is not None:
        affected: Path | None = config.getoption("--affected")
        distances = json.loads(affected.read_text(encoding="utf-8")) if affected else {}
        layers = choose(
            [item.nodeid for item in items], distances, read_durations(), seconds, config.getoption("--turn")
        )
        chosen = {name for layer in layers for name in layer.chosen}
        _keep(config, items, lambda item: item.nodeid in chosen)
        config.stash[LAYERS] = [str(layer) for layer in layers]
    most: int | None = config.getoption("--sample")
    if most is not None:
        kept = _sample(items, most)
        _keep(config, items, kept.__contains__)
    most = config.getoption("--sample-sweeps")
    if most is not None:
        kept = _sample([item for item in items if _is_sweep(item)], most)
        _keep(config, items, lambda item: not _is_sweep(item) or item in kept)


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


def _is_sweep(item: pytest.Item) -> bool:
    return item.get_closest_marker("sweep") is not None


def _sample(items: list[pytest.Item], most: int) -> set[pytest.Item]:
    """At most so many cases of each test, spread evenly, and none that are marked slow."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("slow"):
            cases[f"{item.nodeid.partition('[')[0]} {_route(item)}"].append(item)
    kept: set[pytest.Item] = set()
    for each in cases.values():
        count = min(most, len(each))
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
