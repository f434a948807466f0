"""Settings of every test: hypothesis without clocks, a collector that rests, and plug-ins of all runs."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "support.isolation",
    "support.seeds",
    "support.repetition",
    "support.durations",
    "support.selection",
]

# What fails on a machine that is busy says nothing about the code, and what fails once can be seen again.
settings.register_profile(
    "any-machine",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("any-machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported stays: the collector need not look at it, an eighth of the time of many tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
