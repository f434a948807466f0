"""Runs with a fault on, until a test fails.

Tests that reach the fault come first, files and commands in the order of their time. If these pass, others that may
depend on it follow, for a limited time: later tests of the same files, which may use what an earlier one has computed,
and all tests for a fault that takes effect while modules are imported, if it is not known which functions depend on
it. A test that fails is run again without the fault; one that fails then, too, does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from dev.mutants.client import Outcome, PytestServer, Workspace
from dev.mutants.recording import Recording, Suite, file_of, key

__all__ = ["Result", "Trials"]

_LIT_START: Final = 10.0
_FILES_AT_FIRST: Final = 8


@dataclass
class Result:
    """What a selection of the tests makes of a fault."""

    caught: bool = False
    by: str = ""
    how: str = ""
    reaching: int = 0
    """Number of tests that reach it."""
    indirect: int = 0
    """Number of other tests that were run."""
    limited: bool = False
    """Whether others were left out, as they would take too long."""
    unreliable: list[str] = field(default_factory=list[str])

    def row(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


@dataclass(frozen=True)
class _Group:
    suite: Suite
    file: str
    tests: tuple[str, ...]
    seconds: float


class Trials:
    """Trials of faults with the tests of some suites.

    Args:
        recording: the run without faults.
        servers: of the suites of pytest, by `key`.
        at_import: faults that take effect while modules are imported.
        anywhere: those of them whose users are not known, so that any test may depend on them.
        budget: seconds of tests that do not reach a fault, for each.
    """

    def __init__(
        self,
        workspace: Workspace,
        recording: Recording,
        servers: Mapping[str, PytestServer],
        at_import: Iterable[int],
        anywhere: Iterable[int],
        budget: float,
    ) -> None:
        self._workspace = workspace
        self._recording = recording
        self._servers = servers
        self._at_import = frozenset(at_import)
        self._anywhere = frozenset(anywhere)
        self._budget = budget

    def run(self, number: int, suites: Sequence[Suite]) -> Result:
        """Run the tests of these suites with a fault on."""
        result = Result()
        direct: list[_Group] = []
        for suite in suites:
            for file, tests in self._recording.of(suite):
                reaching = {name: each for name, each in tests.items() if number in each.reached}
                if reaching:
                    direct.append(self._group(suite, file, reaching))
        result.reaching = sum(len(group.tests) for group in direct)
        if self._run_groups(number, direct, result):
            return result
        indirect: list[_Group] = []
        spent = 0.0
        for group in sorted(self._indirect(number, suites, direct), key=lambda group: group.seconds):
            spent += group.seconds
            if spent > self._budget:
                result.limited = True
                break
            indirect.append(group)
        result.indirect = sum(len(group.tests) for group in indirect)
        self._run_groups(number, indirect, result)
        return result

    def _group(self, suite: Suite, file: str, tests: Mapping[str, Outcome]) -> _Group:
        seconds = sum(outcome.seconds for outcome in tests.values())
        return _Group(suite, file, tuple(tests), seconds + (_LIT_START if suite.kind == "lit" else 0.0))

    def _indirect(self, number: int, suites: Sequence[Suite], direct: Iterable[_Group]) -> Iterator[_Group]:
        reached = {(group.suite, group.file): group.tests for group in direct}
        for suite in suites:
            for file, tests in self._recording.of(suite):
                first = reached.get((suite, file), ())
                if number in self._anywhere:
                    others = {name: outcome for name, outcome in tests.items() if name not in first}
                elif first and suite.kind == "pytest":
                    names = list(tests)
                    # With the tests that reach it, which compute what the others use.
                    others = {name: tests[name] for name in names[names.index(first[0]) :]}
                else:
                    continue
                if others and set(others) != set(first):
                    yield self._group(suite, file, others)

    def _run_groups(self, number: int, groups: Iterable[_Group], result: Result) -> bool:
        """Run groups until a test fails, and write that into the result; returns whether one did."""
        for batch in self._batches(number, sorted(groups, key=lambda group: group.seconds)):
            suite = batch[0].suite
            match suite.kind:
                case "pytest":
                    found = self._pytest(number, suite, batch, result)
                case "lit":
                    found = self._lit(number, batch[0], result)
                case "command":
                    outcome = self._workspace.command(batch[0].file, 10 * batch[0].seconds + 20, number)
                    found = (batch[0].file, outcome) if outcome.caught else None
            if found is not None:
                result.caught, result.by, result.how = True, found[0], found[1].result
                return True
        return False

    def _batches(self, number: int, groups: Sequence[_Group]) -> Iterator[list[_Group]]:
        """Groups that run in one process: of the same suite, one after the other; a new process starts with few."""
        batch: list[_Group] = []
        most = _FILES_AT_FIRST
        for group in groups:
            is_full = number in self._at_import and len(batch) == most
            if batch and (batch[0].suite != group.suite or group.suite.kind != "pytest" or is_full):
                yield batch
                batch = []
                most *= 4
            batch.append(group)
        if batch:
            yield batch

    def _pytest(
        self, number: int, suite: Suite, batch: Sequence[_Group], result: Result
    ) -> tuple[str, Outcome] | None:
        shared = self._servers[key(suite)]
        server = shared
        seconds = {
            name: outcome.seconds
            for group in batch
            for name, outcome in self._recording.tests[key(suite)][group.file].items()
        }
        tests = [name for group in batch for name in group.tests]
        if number in self._at_import:
            folder = self._workspace.checkout
            options = [each for each in suite.arguments if not (folder / each).exists()]
            files = list(dict.fromkeys(map(file_of, tests)))
            server = PytestServer(self._workspace, [*options, *files], number)
        else:
            shared.start()
        try:
            if server is not shared:
                try:
                    server.start()
                except RuntimeError:
                    return batch[0].file, Outcome("not collected")
                if server.errors:
                    return file_of(server.errors[0]), Outcome("not collected")
                # A case that is gone, as its parameters come from a table that has a row less, notices nothing.
                tests = [name for name in tests if name in set(server.tests)]
            while tests:
                outcomes = server.run(tests, number, seconds=seconds)
                failed = next((name for name, outcome in outcomes.items() if outcome.caught), None)
                if failed is None:
                    return None
                if failed not in seconds:  # ended between two tests
                    return tests[-1], outcomes[failed]
                shared.start()
                again = shared.run([failed], seconds=seconds)
                if not any(outcome.caught for outcome in again.values()):
                    return failed, outcomes[failed]
                result.unreliable.append(failed)
                tests = tests[tests.index(failed) + 1 :]
            return None
        finally:
            if server is not shared:
                server.stop()

    def _lit(self, number: int, group: _Group, result: Result) -> tuple[str, Outcome] | None:
        root = group.suite.arguments[0]
        tests = list(group.tests)
        limit = 5 * group.seconds + 60
        while tests:
            paths = [self._lit_path(root, name) for name in tests]
            outcomes = self._workspace.lit(paths, limit, number)
            failed = [name for name, outcome in outcomes.items() if outcome.caught]
            if not failed:
                return None
            if failed == [""]:
                return group.file, outcomes[""]
            again = self._workspace.lit([self._lit_path(root, name) for name in failed], limit)
            sure = [name for name in failed if name in again and not again[name].caught]
            if sure:
                return sure[0], outcomes[sure[0]]
            result.unreliable += failed
            tests = [name for name in tests if name not in failed]
        return None

    def _lit_path(self, root: str, name: str) -> str:
        """The path of a test from its name, which is relative to the folder of lit's configuration."""
        folder = self._workspace.checkout / root
        while not (folder / "lit.cfg.py").exists() and folder != self._workspace.checkout:
            folder = folder.parent
        return str((folder / name).relative_to(self._workspace.checkout))
