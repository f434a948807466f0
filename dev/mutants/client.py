"""Runs of tests in a copy: pytest in forks of a server, lit, and other commands."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from dev.mutants import server, switch
from dev.mutants.checkout import EXTRA

__all__ = ["Outcome", "PytestServer", "Workspace"]

_GRACE: Final = 20.0
_FACTOR: Final = 10.0
_START: Final = 900.0
_Json: TypeAlias = dict[str, Any]


@dataclass
class Outcome:
    """What came of a test: `passed`, `failed`, `skipped`, `time-out`, or `crash` of its process."""

    result: str
    seconds: float = 0.0
    text: str = ""
    reached: list[int] = field(default_factory=list[int])

    @property
    def caught(self) -> bool:
        """Whether the test has noticed something."""
        return self.result not in {"passed", "skipped"}


@dataclass
class Workspace:
    """A copy, and the environment in which its tests run."""

    checkout: Path
    logs: Path
    environment: Mapping[str, str]
    """Added to that of this process; `{fresh}` in a value is a folder of the run's own."""
    packages: Sequence[str]
    kept: Sequence[str] = ()
    """Folders of pytest's cache that no fault can change."""

    def variables(self, folder: str, **more: str) -> dict[str, str]:
        """The environment of a process whose temporary files go to a folder."""
        paths = [str(self.checkout), str(self.checkout / EXTRA)]
        known = {name: value for name, value in os.environ.items() if not name.startswith("MUTANT_")}
        known.pop("PYTEST_ADDOPTS", None)
        return {
            **known,
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "TMPDIR": folder,
            "XDG_CACHE_HOME": folder,
            server.PACKAGES: " ".join(self.packages),
            server.KEPT: " ".join(self.kept),
            **{name: value.replace("{fresh}", folder) for name, value in self.environment.items()},
            **more,
        }

    @contextlib.contextmanager
    def folder(self) -> Generator[str]:
        """A folder for the temporary files of a run; its path is short enough for sockets."""
        path = tempfile.mkdtemp(prefix="mut-")
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def command(self, line: str, limit: float, fault: int = -1, *, record: bool = False) -> Outcome:
        """Run a command in the copy; `python` is this interpreter, and `PYTHONPATH=` before it is added to ours."""
        with self.folder() as folder:
            reached = Path(folder, "reached")
            variables = self.variables(folder, **{switch.ACTIVE: str(fault)})
            if record:
                variables[switch.RECORD] = str(reached)
            words = shlex.split(line)
            while "=" in words[0]:
                name, _, value = words.pop(0).partition("=")
                is_path = name == "PYTHONPATH"
                variables[name] = (
                    f"{variables[name]}{os.pathsep}{self.checkout / value}" if is_path else value
                )
            if words[0] == "python":
                words[0] = sys.executable
            start = time.perf_counter()
            code = self._call(words, variables, limit)
            seconds = round(time.perf_counter() - start, 3)
            numbers = sorted({number for _, number in _reached(reached)})
            result = "time-out" if code is None else "failed" if code else "passed"
            return Outcome(result, seconds, "", numbers)

    def lit(
        self, paths: Sequence[str], limit: float, fault: int = -1, *, record: bool = False
    ) -> dict[str, Outcome]:
        """Run lit tests with forks of one process; stops at the first failure unless it records.

        Returns outcomes by name, those of tests that did not run left out; a time-out of all is one of the test "".
        """
        with self.folder() as folder:
            reached = Path(folder, "reached")
            result = Path(folder, "result.json")
            variables = self.variables(folder, **{switch.ACTIVE: str(fault)})
            if record:
                variables[switch.RECORD] = str(reached)
            words = [
                str(Path(sys.executable).with_name("lit")),
                "-q",
                "--param",
                "warm",
                "-j",
                "2",
                "-o",
                str(result),
            ]
            words += [] if record else ["--max-failures", "1"]
            start = time.perf_counter()
            code = self._call([*words, *paths], variables, limit)
            seconds = time.perf_counter() - start
            if code is None or not result.exists():
                return {"": Outcome("crash" if code is not None else "time-out", round(seconds, 3))}
            outcomes: dict[str, Outcome] = {}
            for row in json.loads(result.read_text(encoding="utf-8"))["tests"]:
                name = row["name"].partition(" :: ")[2]
                if row["code"] in {"PASS", "FAIL", "TIMEOUT", "UNRESOLVED"}:
                    passed = row["code"] == "PASS"
                    text = row.get("output", "")[-300:]
                    outcomes[name] = Outcome(
                        "passed" if passed else "failed", row["elapsed"], "" if passed else text
                    )
            for name, number in _reached(reached):
                if name in outcomes and number not in outcomes[name].reached:
                    outcomes[name].reached.append(number)
            return outcomes

    def _call(self, words: list[str], variables: dict[str, str], limit: float) -> int | None:
        self.logs.mkdir(parents=True, exist_ok=True)
        with (self.logs / "commands.log").open("ab") as log:
            process = subprocess.Popen(
                words,
                cwd=self.checkout,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process.pid)
                process.wait()


class PytestServer:
    """A session of pytest that has collected the tests of some arguments.

    Args:
        workspace: the copy.
        arguments: those of pytest.
        fault: on from the start, where it is not negative; `packages` are not imported, then.

    Raises:
        RuntimeError: from `start`, when pytest ended before it had collected.
    """

    def __init__(self, workspace: Workspace, arguments: Sequence[str], fault: int = -1) -> None:
        self.workspace = workspace
        self.arguments = list(arguments)
        self.fault = fault
        self.tests: list[str] = []
        self.reached: list[int] = []
        self.errors: list[str] = []
        self._folder = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start and collect, if that has not been done."""
        with self._lock:
            if self._process is None:
                self._start()

    def _start(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="mut-")
        more = {server.SOCKET: self._socket}
        if self.fault >= 0:
            more |= {switch.ACTIVE: str(self.fault), server.PACKAGES: ""}
        variables = self.workspace.variables(self._folder, **more)
        self.workspace.logs.mkdir(parents=True, exist_ok=True)
        log = self.workspace.logs / ("fault.log" if self.fault >= 0 else "server.log")
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-p", "dev.mutants.server", *self.arguments],
                cwd=self.workspace.checkout,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        end = time.monotonic() + _START
        while not Path(self._socket).exists():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError(f"pytest did not collect: see {log}")
            time.sleep(0.05)
        answer = next(self._ask({}, _START))
        self.tests, self.reached, self.errors = answer["tests"], answer["reached"], answer["errors"]

    def stop(self) -> None:
        """End the server and all of its forks."""
        if self._process is not None:
            _end(self._process.pid)
            self._process.wait()
            self._process = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def run(
        self,
        tests: Sequence[str],
        fault: int = -1,
        *,
        seconds: Mapping[str, float] | None = None,
        record: bool = False,
    ) -> dict[str, Outcome]:
        """Run tests in a fork, in this order.

        Args:
            tests: their names.
            fault: the number of the one that is on, if it is not negative.
            seconds: what each took without a fault, for the time-outs of ten times as much and 20 seconds; without it,
                an hour.
            record: run all and return what they reach; else stop at the first failure.

        Returns:
            Outcomes of the tests that were started.
        """
        outcomes: dict[str, Outcome] = {}
        with self.workspace.folder() as folder:
            request: _Json = {
                "fault": fault,
                "tests": list(tests),
                "folder": folder,
                "record": record,
                "stop_at_failure": not record,
            }
            process = 0
            running = ""
            begun = time.monotonic()
            limit = 3600.0 if seconds is None else _GRACE
            ended = False
            messages = self._ask(request, limit)
            try:
                message = next(messages)
                while True:
                    process = message.get("process", process)
                    if "start" in message:
                        running, begun = message["start"], time.monotonic()
                        limit = 3600.0 if seconds is None else _FACTOR * seconds.get(running, 1.0) + _GRACE
                    elif "test" in message:
                        running = ""
                        result = "failed" if message["failed"] else "passed" if message["ran"] else "skipped"
                        outcomes[message["test"]] = Outcome(result, message["seconds"], message["text"])
                    elif "crash" in message:
                        outcomes[running] = Outcome("crash", time.monotonic() - begun, message["crash"])
                    elif "reached" in message:
                        for name, numbers in message["reached"].items():
                            outcomes[name].reached = numbers
                    ended = ended or "end" in message
                    message = messages.send(limit)
            except StopIteration:
                if not ended and running not in outcomes:
                    outcomes[running] = Outcome("crash", time.monotonic() - begun)
            except TimeoutError:
                outcomes[running] = Outcome("time-out", time.monotonic() - begun)
            finally:
                messages.close()
                if process:
                    _end(process)
        return outcomes

    @property
    def _socket(self) -> str:
        return str(Path(self._folder, "socket"))

    def _ask(self, request: _Json, limit: float) -> Generator[_Json, float | None]:
        """Messages of a run; `send` sets the seconds to wait for the next."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._socket)
            connection.sendall((json.dumps(request) if request else "").encode() + b"\n")
            buffer = b""
            while True:
                while b"\n" in buffer:
                    line, _, buffer = buffer.partition(b"\n")
                    limit = (yield json.loads(line)) or limit
                connection.settimeout(limit)
                try:
                    data = connection.recv(1 << 16)
                except ConnectionResetError:
                    data = b""
                if not data:
                    return
                buffer += data


def _reached(path: Path) -> Iterator[tuple[str, int]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            name, _, number = line.rpartition("\t")
            yield name, int(number)


def _end(group: int) -> None:
    """End a process and those it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
