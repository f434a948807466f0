"""Commands that run failed tests alone: the last line of each report, and of the run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

import pytest

__all__ = ["TITLE", "command"]

ROOT: Final = Path(__file__).parents[2]
TITLE: Final = "to run it alone"
MOST: Final = 5
"""More failures than these are repeated by pytest's memory of them."""
SETTINGS: Final = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "OMP_NUM_THREADS",
    "PYTHONHASHSEED",
    "CI",
    "QUICK_TURN",
)
"""Variables that change what a test computes, or whether it may be skipped."""
UNLESS: Final = {"OMP_NUM_THREADS": "1"}
"""Values that tests have by default: see `support.isolation`."""


def command(module: str, arguments: Sequence[str], root: Path = ROOT) -> str:
    """The shell command, in the folder `root`, that runs a module with this Python and what it was set to; modules of
    this folder have it on their path.
    """
    variables = [
        f"{name}={os.environ[name]}"
        for name in SETTINGS
        if os.environ.get(name, UNLESS.get(name)) != UNLESS.get(name)
    ]
    if Path(__file__).parents[1].joinpath(module).exists():
        variables.append("PYTHONPATH=test")
    python = Path(sys.executable)
    shown = python.relative_to(root) if python.is_relative_to(root) else python
    return shlex.join([*variables, str(shown), "-m", module, *arguments])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        report.sections.append((TITLE, command("pytest", [item.nodeid], item.config.rootpath)))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.failed:
        report.sections.append((TITLE, command("pytest", [collector.nodeid], collector.config.rootpath)))
    return report


class _Failures:
    """Those of a run, also of workers that have crashed."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._names: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._names[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._names[report.nodeid] = None

    def pytest_unconfigure(self) -> None:
        """After the line with the counts."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if self._names and reporter is not None:
            again = [*self._names] if len(self._names) <= MOST else ["--last-failed"]
            reporter.write_line(command("pytest", again, self._config.rootpath))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Failures(config))
