"""Settings of every test: hypothesis without clocks, and runs of a sample or a share of the cases."""

from __future__ import annotations

import argparse
import gc
from collections import defaultdict
from collections.abc import Callable
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["support.isolation", "support.repetition"]

# What fails on a machine that is busy says nothing about the code, and what fails once can be seen again.
settings.register_profile(
    "any-machine",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("any-machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample",
        type=int,
        metavar="N",
        help="run N cases of each test, spread evenly over its parameters, and none that are marked slow",
    )
    parser.addoption(
        "--beyond-sample",
        type=int,
        metavar="N",
        help="leave out what --sample N runs of the same files",
    )
    parser.addoption(
        "--sample-sweeps",
        type=int,
        metavar="N",
        help="the same of tests that are marked sweep; others run whole",
    )
    parser.addoption(
        "--share",
        type=_share,
        metavar="K/N",
        help="of tests that are marked sweep, and with --beyond-sample of all, run one in N cases; other K, from 0 to "
        "N - 1, take others",
    )


def _share(text: str) -> tuple[int, int]:
    which, _, count = text.partition("/")
    if not (which.isdigit() and count.isdigit() and int(which) < int(count)):
        raise argparse.ArgumentTypeError(f"expected K/N with K below N, got {text}")
    return int(which), int(count)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported stays: the collector need not look at it, an eighth of the time of many tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    beyond: int | None = config.getoption("--beyond-sample")
    if beyond is not None:
        others = _sample(items, beyond)
        _keep(config, items, lambda item: item not in others)
    share: tuple[int, int] | None = config.getoption("--share")
    if share is not None:
        which, count = share

        def is_chosen(item: pytest.Item) -> bool:
            is_shared = beyond is not None or item.get_closest_marker("sweep") is not None
            return not is_shared or crc32(_case(item).encode()) % count == which

        _keep(config, items, is_chosen)
    most: int | None = config.getoption("--sample")
    if most is not None:
        kept = _sample(items, most)
        _keep(config, items, kept.__contains__)
    most = config.getoption("--sample-sweeps")
    if most is not None:
        kept = _sample([item for item in items if item.get_closest_marker("sweep")], most)
        _keep(config, items, lambda item: item.get_closest_marker("sweep") is None or item in kept)


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
