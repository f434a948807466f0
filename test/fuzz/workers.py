"""Worker processes, so that a crash is a finding and not the end."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
import traceback
import warnings
from collections import Counter
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

CHUNK = 200
# A worker that leaks is stopped by the system before the machine is.
ADDRESS_SPACE = 8 << 30
STUCK = 120.0
"""Seconds that a case may take on a busy machine."""


class Worker(NamedTuple):
    """A process that runs cases; `seed` is the one it is at."""

    process: BaseProcess
    pipe: Connection
    seed: Any


def serve(pipe: Connection, current: Any, kinds: tuple[str, ...]) -> None:
    """Run the chunks of seeds that come through `pipe` and answer with what came of them; see `make_case`."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    with TemporaryDirectory() as caches:
        os.environ["XDG_CACHE_HOME"] = caches
        with TemporaryDirectory() as folder:
            _serve(pipe, current, kinds, Path(folder))


def _serve(pipe: Connection, current: Any, kinds: tuple[str, ...], folder: Path) -> None:
    from fuzz.cases import make_case, run_case
    from fuzz.targets import Violation

    # A warning on standard error is no clean run.
    warnings.simplefilter("error")
    while True:
        try:
            seeds = pipe.recv()
        except EOFError:
            return
        outcomes: Counter[str] = Counter()
        violations: list[tuple[int, str]] = []
        for seed in seeds:
            current.value = seed
            case = make_case(seed, kinds)
            try:
                outcomes[f"{case.kind} {run_case(case, folder)}"] += 1
            except Violation:
                violations.append((seed, traceback.format_exc()))
        pipe.send((seeds, outcomes, violations))


def start(kinds: tuple[str, ...] = ()) -> Worker:
    """A new worker."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    seed = context.Value("q", -1)
    process = context.Process(target=serve, args=(theirs, seed, kinds), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, ours, seed)


class Run:
    """Cases `first` to `end` on several workers."""

    def __init__(self, first: int, end: int, state: Path | None, kinds: tuple[str, ...] = ()) -> None:
        self._kinds = kinds
        self._next = first
        self._first = first
        self._end = end
        self._state = state
        self._open: dict[Connection, tuple[Worker, range]] = {}
        self._seen: dict[int | None, tuple[int | None, float]] = {}
        """The case that a process is at, and since when."""
        self.outcomes: Counter[str] = Counter()
        self.violations: list[tuple[int, str]] = []

    def run(self, processes: int, *, quiet: bool) -> None:
        """Run all of them; progress goes to standard error. Ctrl-C ends the run with what has been found."""
        for _ in range(processes):
            self._give(start(self._kinds))
        try:
            self._wait(quiet=quiet)
        except KeyboardInterrupt:
            print(f"interrupted: cases before {self._finished():,} have run", file=sys.stderr)
            for worker, _ in self._open.values():
                worker.process.kill()
                worker.process.join()

    def _wait(self, *, quiet: bool) -> None:
        started = shown = time.monotonic()
        while self._open:
            for pipe in wait(list(self._open), timeout=1):
                assert isinstance(pipe, Connection)
                self._take(pipe)
            now = time.monotonic()
            self._kill_stuck(now)
            if not quiet and now - shown > 5:
                shown = now
                done = self._finished() - self._first
                print(
                    f"{self._finished():,} of {self._end:,}, {done / (now - started):.0f} a second, "
                    f"{len(self.violations)} violations",
                    file=sys.stderr,
                )

    def _kill_stuck(self, now: float) -> None:
        """End processes that do not heed the limit of a case's time, as a loop in C does not."""
        for worker, _ in self._open.values():
            seed = worker.seed.value
            last, since = self._seen.get(worker.process.pid, (None, now))
            self._seen[worker.process.pid] = (seed, since if seed == last else now)
            if seed == last and now - since > STUCK:
                worker.process.kill()

    def _give(self, worker: Worker) -> None:
        seeds = range(self._next, min(self._next + CHUNK, self._end))
        if not seeds:
            worker.pipe.close()
            worker.process.join()
            return
        self._next = seeds.stop
        self._open[worker.pipe] = (worker, seeds)
        worker.pipe.send(seeds)

    def _take(self, pipe: Connection) -> None:
        worker, seeds = self._open.pop(pipe)
        try:
            _, outcomes, violations = pipe.recv()
        except (EOFError, ConnectionResetError):
            worker.process.join()
            seed = worker.seed.value
            if seed < seeds.start:
                raise RuntimeError("a worker died before its first case") from None
            self.violations.append(
                (seed, f"the process died, or took {STUCK} s: exit code {worker.process.exitcode}")
            )
            left = range(seed + 1, seeds.stop)
            successor = start(self._kinds)
            if left:
                self._open[successor.pipe] = (successor, left)
                successor.pipe.send(left)
            else:
                self._give(successor)
            return
        self.outcomes += outcomes
        self.violations += violations
        self._give(worker)
        if self._state is not None:
            self._state.write_text(f"{self._finished()}\n")

    def _finished(self) -> int:
        """The seed before which all cases are done."""
        return min((seeds.start for _, seeds in self._open.values()), default=self._next)
