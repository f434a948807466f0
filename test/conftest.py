"""Settings of every test: hypothesis without clocks, and runs of a sample of the cases."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

# What fails on a machine that is busy says nothing about the code.
settings.register_profile(
    "any-machine",
    deadline=None,
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    most: int | None = config.getoption("--sample")
    if most is None:
        return
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    left: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("slow"):
            left.append(item)
        else:
            cases[item.nodeid.partition("[")[0]].append(item)
    kept: set[pytest.Item] = set()
    for each in cases.values():
        count = min(most, len(each))
        kept.update(each[at * len(each) // count] for at in range(count))
    left += [item for each in cases.values() for item in each if item not in kept]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item in kept]
