"""The run with no fault on: seconds of each test, and the faults that it reaches.

Files of pytest run in a process each, so that what a process computes once is computed, and reached, in each.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from dev.mutants.client import Outcome, PytestServer, Workspace

__all__ = ["KINDS", "Kind", "Recording", "Suite", "Tests", "file_of", "write_json"]

_SAVED_EVERY: Final = 15.0

Tests: TypeAlias = dict[str, Outcome]
Kind: TypeAlias = Literal["pytest", "lit", "command"]
KINDS: Final[tuple[Kind, ...]] = ("pytest", "lit", "command")


@dataclass(frozen=True)
class Suite:
    """Tests that one command line runs."""

    kind: Kind
    arguments: tuple[str, ...]
    quick: bool
    """Whether it is part of the quick selection; the full one has all suites."""


@dataclass
class Recording:
    """Outcomes of all tests of the suites, kept in a file while they come in.

    Args:
        path: of the file; what it has of the same digest is not run again.
        digest: of all that the tests depend on.
    """

    path: Path
    digest: str
    suites: Sequence[Suite]
    tests: dict[str, dict[str, Tests]] = field(default_factory=dict[str, dict[str, Tests]])
    """By suite and file, in the order in which they run. A file of a suite of another kind is "lit" or a command."""
    at_import: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """By suite: faults that are reached while tests are collected."""
    problems: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By suite: files that cannot be collected."""

    complete: list[str] = field(default_factory=list[str])
    """Suites of which all has run."""

    def __post_init__(self) -> None:
        """Read the file."""
        if not self.path.exists():
            return
        saved: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        if saved["digest"] == self.digest:
            self.at_import, self.problems = saved["at_import"], saved["problems"]
            self.complete = saved["complete"]
            self.tests = {
                suite: {
                    file: {name: Outcome(**outcome) for name, outcome in tests.items()}
                    for file, tests in files.items()
                }
                for suite, files in saved["tests"].items()
            }

    def save(self) -> None:
        """Write the file."""
        rows = {
            suite: {
                file: {name: asdict(outcome) for name, outcome in tests.items()}
                for file, tests in files.items()
            }
            for suite, files in self.tests.items()
        }
        write_json(
            self.path,
            {
                "digest": self.digest,
                "at_import": self.at_import,
                "problems": self.problems,
                "complete": self.complete,
                "tests": rows,
            },
        )

    def run(self, workspace: Workspace, suite: Suite, server: PytestServer | None, processes: int) -> None:
        """Run the tests of a suite that have no outcome yet; pytest needs a server of the suite.

        Raises:
            RuntimeError: if pytest cannot collect, lit has no results, or another command fails.
        """
        name = key(suite)
        if name in self.complete:
            return
        files = self.tests.setdefault(name, {})
        if suite.kind == "lit" and not files:
            files["lit"] = workspace.lit(suite.arguments, 7200.0, record=True)
            if "" in files["lit"]:
                raise RuntimeError(f"lit {' '.join(suite.arguments)}: no results: see {workspace.logs}")
        elif suite.kind == "command" and not files:
            line = " ".join(suite.arguments)
            outcome = workspace.command(line, 7200.0, record=True)
            if outcome.result != "passed":
                raise RuntimeError(f"{line}: {outcome.result} without a fault: see {workspace.logs}")
            files[line] = {line: outcome}
        elif server is not None:
            server.start()
            self.at_import[name], self.problems[name] = server.reached, server.errors
            # What another suite runs as well is of that one.
            known = {
                test
                for other, recorded in self.tests.items()
                if other != name
                for tests in recorded.values()
                for test in tests
            }
            by_file: defaultdict[str, list[str]] = defaultdict(list)
            for test in server.tests:
                if test not in known:
                    by_file[file_of(test)].append(test)
            self._run_files(server, files, by_file, processes)
        self.complete.append(name)
        self.save()

    def _run_files(
        self, server: PytestServer, files: dict[str, Tests], by_file: dict[str, list[str]], processes: int
    ) -> None:
        saved = time.monotonic()
        with ThreadPoolExecutor(processes) as pool:
            waiting = {
                pool.submit(server.run, tests, record=True): file
                for file, tests in by_file.items()
                if file not in files
            }
            for count, done in enumerate(as_completed(waiting), 1):
                files[waiting[done]] = done.result()
                if time.monotonic() > saved + _SAVED_EVERY:
                    self.save()
                    saved = time.monotonic()
                    print(f"recorded {count} of {len(waiting)} files", file=sys.stderr)

    def of(self, suite: Suite) -> Iterator[tuple[str, Tests]]:
        """Files and tests of a suite that pass without a fault."""
        for file, tests in self.tests.get(key(suite), {}).items():
            yield file, {name: outcome for name, outcome in tests.items() if outcome.result == "passed"}

    def failing(self) -> list[str]:
        """Tests that do not pass, and files that cannot be collected: they cannot catch anything."""
        return [
            *(problem.splitlines()[0] for problems in self.problems.values() for problem in problems),
            *(
                f"{name or file}: {outcome.result} {outcome.text.strip().splitlines()[-1:]}"
                for files in self.tests.values()
                for file, tests in files.items()
                for name, outcome in tests.items()
                if outcome.caught
            ),
        ]


def key(suite: Suite) -> str:
    """The name of a suite in the file."""
    return f"{suite.kind} {' '.join(suite.arguments)}"


def file_of(test: str) -> str:
    """The file of a test of pytest."""
    return test.partition("::")[0]


def write_json(path: Path, content: Any) -> None:
    """Write a file so that an interruption leaves the old one."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, path)
