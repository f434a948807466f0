"""A pytest plugin: a collected session that runs tests in forks, as it is asked to.

`python -m pytest -p dev.mutants.server ...` with `MUTANT_SERVER` in the environment collects, listens on the socket of
that path, and does not run tests of its own accord. A connection is a run: a line of JSON comes in, with the number of
the fault to switch on, names of tests, a folder for temporary files, and whether to stop at the first failure. Lines of
JSON go out: the process; for each test its name when it starts, its outcome and seconds; and at the end the faults that
each reached, or that fixtures it uses reached when they were set up for another test. The answer to an empty line are
the names of the tests and the faults that were reached when they were collected.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Generator, Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

import pytest

from dev.mutants.switch import SWITCH

__all__ = ["KEPT", "MEMORY", "PACKAGES", "SOCKET"]

SOCKET: Final = "MUTANT_SERVER"
"""The path of the socket."""
PACKAGES: Final = "MUTANT_PACKAGES"
"""Packages to be imported as a whole before the first fork, as forks would import them again and again."""
KEPT: Final = "MUTANT_KEPT"
"""Folders of pytest's cache that runs share. What else tests keep there may be made by sources with a fault."""
MEMORY: Final = 10 << 30
"""Bytes that a run may allocate: a fault may ask for more than the machine has."""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if SOCKET in os.environ:
        config.pluginmanager.register(_Server(config), "mutant-server")


class _Server:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reports: list[pytest.TestReport] = []
        self._errors: list[str] = []
        self._fixtures: dict[int, set[int]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Make property tests try the same in each run, and forget what failed with another fault."""
        if "hypothesis" in sys.modules:
            from hypothesis import settings

            settings.register_profile("mutants", derandomize=True)
            settings.load_profile("mutants")

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._errors.append(f"{report.nodeid}: {report.longreprtext[-2000:]}")

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None]:
        """Note what is reached for the fixture, which other tests use, too."""
        if fixturedef.scope == "function":
            yield
            return
        before = set(SWITCH.reached)
        SWITCH.reached.clear()
        yield
        self._fixtures.setdefault(id(fixturedef), set()).update(SWITCH.reached)
        SWITCH.reached.update(before)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        _import_all(os.environ.get(PACKAGES, "").split())
        items = {item.nodeid: item for item in session.items}
        reached = sorted(SWITCH.reached)
        listener = socket.socket(socket.AF_UNIX)
        path = Path(os.environ.pop(SOCKET))
        listener.bind(f"{path}.draft")
        listener.listen(16)
        # It ends with the process that started it.
        listener.settimeout(10)
        parent = os.getppid()
        Path(f"{path}.draft").rename(path)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        gc.collect()
        gc.freeze()
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if os.getppid() != parent:
                    return True
                continue
            connection.settimeout(None)
            line = connection.makefile("r", encoding="utf-8").readline()
            if not line.strip():
                _send(connection, tests=list(items), reached=reached, errors=self._errors)
                connection.close()
                continue
            request = json.loads(line)
            with warnings.catch_warnings(action="ignore"):  # of threads, from Python 3.12 on
                child = os.fork()
            if child == 0:
                code = 1
                try:
                    listener.close()
                    self._run(session, items, connection, request)
                    code = 0
                except BaseException as error:
                    _send(connection, crash=f"{type(error).__name__}: {error}")
                finally:
                    os._exit(code)
            connection.close()

    def _run(
        self,
        session: pytest.Session,
        items: dict[str, pytest.Item],
        connection: socket.socket,
        request: dict[str, Any],
    ) -> None:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _send(connection, process=os.getpid())
        folder: str = request["folder"]
        for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT", "XDG_CACHE_HOME"):
            os.environ[name] = folder
        tempfile.tempdir = None
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        self._separate_cache(Path(folder, "cache"))
        # Output that forks capture must not go to one file.
        capture: Any = self._config.pluginmanager.getplugin("capturemanager")
        if capture is not None and capture.is_globally_capturing():
            capture.stop_global_capturing()
            capture.start_global_capturing()
        number: int = request["fault"]
        # Those of commands come in a file, if they are asked for.
        record = str(Path(folder, "reached")) if request["record"] else ""
        tests = [items[name] for name in request["tests"] if name in items]
        uses: dict[str, set[int]] = {}
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            _send(connection, start=item.nodeid)
            SWITCH.choose(number, record, item.nodeid)
            self._reports.clear()
            start = time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds = time.perf_counter() - start
            uses[item.nodeid] = set(SWITCH.reached)
            failed = [report for report in self._reports if report.failed]
            ran = [report for report in self._reports if report.when == "call"]
            _send(
                connection,
                test=item.nodeid,
                failed=bool(failed),
                ran=bool(ran) and not all(report.skipped for report in ran),
                seconds=round(seconds, 4),
                text=failed[0].longreprtext[-300:] if failed else "",
            )
            if failed and request["stop_at_failure"]:
                break
            session.shouldfail = session.shouldstop = False
        if request["record"]:
            for name, number in _lines(Path(record)):
                uses[name].add(number)
            for item in tests:
                for definitions in _fixture_definitions(item):
                    for definition in definitions:
                        uses[item.nodeid] |= self._fixtures.get(id(definition), set())
            _send(connection, reached={name: sorted(numbers) for name, numbers in uses.items()})
        _send(connection, end=True)

    def _separate_cache(self, folder: Path) -> None:
        cache: Any = getattr(self._config, "cache", None)
        if cache is None:
            return
        shared = {name: cache.mkdir(name) for name in os.environ.get(KEPT, "").split()}
        cache._cachedir = folder
        for name, path in shared.items():
            link = cache.mkdir(name)
            link.rmdir()
            link.symlink_to(path)


def _fixture_definitions(item: pytest.Item) -> Iterable[Iterable[pytest.FixtureDef[Any]]]:
    information: Any = getattr(item, "_fixtureinfo", None)
    return () if information is None else information.name2fixturedefs.values()


def _lines(path: Path) -> Iterable[tuple[str, int]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            test, _, number = line.rpartition("\t")
            if test:
                yield test, int(number)


def _import_all(packages: list[str]) -> None:
    """Import packages with all that is in them; what needs a package that is not installed is left out."""
    for package in packages:
        for module in walk_packages(import_module(package).__path__, f"{package}.", lambda _: None):
            if not module.name.endswith("__main__"):
                with warnings.catch_warnings(action="ignore"):
                    try:
                        import_module(module.name)
                    except ImportError as error:
                        print(f"not imported: {module.name}: {error}", file=sys.stderr)


def _send(connection: socket.socket, **message: Any) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    _import_all(os.environ.get(PACKAGES, "").split())
