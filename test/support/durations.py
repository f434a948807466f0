"""Plug-in that records the seconds of each test, for `python -m dev.durations`."""

from __future__ import annotations

from collections import defaultdict

import pytest

from dev.durations import record


def pytest_configure(config: pytest.Config) -> None:
    # Workers of pytest-xdist report to the process that started them.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(), "durations")


class Durations:
    """Sums of the phases of each test, written when the run ends, however it ends."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_unconfigure(self) -> None:
        record(self.seconds)
