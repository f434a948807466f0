"""A campaign: sample, copy, recording, and trials, with its files in one folder; it goes on where it was stopped."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from dev.mutants.checkout import Checkout
from dev.mutants.client import PytestServer, Workspace
from dev.mutants.instrumentation import instrument
from dev.mutants.operators import Fault
from dev.mutants.recording import Recording, Suite, key, write_json
from dev.mutants.sampling import AREAS, Area, area_of, load, sample, save, sources
from dev.mutants.trials import Trials
from dev.mutants.usage import Function, Usage

__all__ = ["INSTALLED", "Campaign"]

INSTALLED: Final = {"tools": "et_tools"}
"""Folders that are installed under another name."""


@dataclass
class Campaign:
    """Settings of a campaign; see `dev.mutants.__main__` for each."""

    root: Path
    tests: Path
    work: Path
    suites: Sequence[Suite]
    count: int = 200
    seed: int = 0
    mutants: Path | None = None
    processes: int = 2
    budget: float = 120.0
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    areas: Sequence[Area] = AREAS
    only: Sequence[int] = ()
    preload: bool = True
    kept: Sequence[str] = ()

    def run(self) -> list[dict[str, Any]]:
        """Run it; returns a row for each fault, as in results.json."""
        texts = sources(self.root, self.areas)
        found = self._sample(texts)
        checkout, digest, early, anywhere = self._copy(texts, found)
        workspace = Workspace(
            checkout.folder, self.work / "logs", self.environment, self._packages(texts), self.kept
        )
        recording = Recording(self.work / "recording.json", digest, self.suites)
        servers = {
            key(suite): PytestServer(workspace, suite.arguments)
            for suite in self.suites
            if suite.kind == "pytest"
        }
        rows = self._rows(found, digest)
        try:
            for selection in ("quick", "full"):
                suites = [suite for suite in self.suites if suite.quick == (selection == "quick")]
                waiting = [
                    number
                    for number in (self.only or range(len(found)))
                    if selection not in rows[number] and not rows[number].get("quick", {}).get("caught")
                ]
                if suites and waiting:
                    self._record(workspace, recording, servers, suites)
                    reached = {
                        number for suite in suites for number in recording.at_import.get(key(suite), ())
                    }
                    trials = Trials(
                        workspace,
                        recording,
                        servers,
                        early | reached,
                        anywhere | (reached - early),
                        self.budget,
                    )
                    self._try(trials, suites, selection, waiting, rows, digest)
        finally:
            for each in servers.values():
                each.stop()
        for line in recording.failing():
            print(f"does not pass without a fault, so it catches none: {line}")
        return [row for row in rows if "quick" in row or "full" in row]

    def _packages(self, texts: Mapping[str, str]) -> list[str]:
        """Packages that runs import as a whole before they fork."""
        return sorted({INSTALLED.get(name, name) for name in self._folders(texts)}) if self.preload else []

    def _folders(self, texts: Mapping[str, str]) -> list[str]:
        return sorted({path.partition("/")[0] for path in texts})

    def _sample(self, texts: Mapping[str, str]) -> list[Fault]:
        saved = self.mutants or self.work / "mutants.json"
        if not saved.exists():
            if self.mutants is not None:
                raise FileNotFoundError(saved)
            save(saved, sample(texts, self.areas, self.count, self.seed))
        found, absent = load(saved, texts)
        for fault in absent:
            print(f"not in these sources: {fault.path}: {fault.function}: {fault.kind}: {fault.before}")
        return found

    def _copy(
        self, texts: Mapping[str, str], found: Sequence[Fault]
    ) -> tuple[Checkout, str, set[int], set[int]]:
        """Write the copy; also returns its digest, the faults that take effect when all modules are imported, and those
        of them whose users are not known: of functions, and of attributes of classes.
        """
        checkout = Checkout(self.work / "checkout", self.root, self.tests, INSTALLED)
        folders = self._folders(texts)
        digest = checkout.write(self._changed(texts, found, {}), folders)
        known = self.work / "early.json"
        saved: dict[str, Any] = json.loads(known.read_text(encoding="utf-8")) if known.exists() else {}
        if saved.get("digest") != digest:
            workspace = Workspace(
                checkout.folder, self.work / "logs", self.environment, self._packages(texts)
            )
            outcome = workspace.command("python -m dev.mutants.server", 900.0, record=True)
            if outcome.caught:
                raise RuntimeError(f"the sources cannot be imported: see {self.work / 'logs'}")
            saved = {"digest": digest, "reached": outcome.reached}
            write_json(known, saved)
        early = {number for number, fault in enumerate(found) if fault.outside} | set(saved["reached"])
        usage = Usage(texts)
        probes: dict[int, list[Function]] = {
            number: usage.functions(found[number].path, found[number].line) for number in sorted(early)
        }
        # The digest is of the copy with probes, which tests run; the other one says whether these are current.
        digest = checkout.write(self._changed(texts, found, probes), folders)
        # Of a class: others may read the attribute, by way of an instance.
        anywhere = {
            number
            for number in early
            if not (probes[number] and found[number].outside)
            or found[number].function.lstrip("_")[:1].isupper()
        }
        return checkout, digest, early, anywhere

    def _changed(
        self, texts: Mapping[str, str], found: Sequence[Fault], probes: Mapping[int, Sequence[Function]]
    ) -> dict[str, str]:
        by_file: dict[str, list[int]] = {}
        for number, fault in enumerate(found):
            by_file.setdefault(fault.path, []).append(number)
        entered: dict[str, list[tuple[int, str]]] = {}
        for number, functions in probes.items():
            for path, function in functions:
                entered.setdefault(path, []).append((number, function))
        return {
            path: instrument(
                path,
                texts[path],
                [(number, found[number]) for number in by_file.get(path, [])],
                entered.get(path, []),
            )
            for path in sorted({*by_file, *entered})
        }

    def _rows(self, found: Sequence[Fault], digest: str) -> list[dict[str, Any]]:
        path = self.work / "results.json"
        if path.exists():
            saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if saved["digest"] == digest and len(saved["rows"]) == len(found):
                return saved["rows"]
            shutil.copy(path, path.with_suffix(".old.json"))
        return [{"fault": asdict(fault), "area": area_of(fault.path, self.areas)} for fault in found]

    def _record(
        self,
        workspace: Workspace,
        recording: Recording,
        servers: Mapping[str, PytestServer],
        suites: Sequence[Suite],
    ) -> None:
        for suite in suites:
            begun = time.monotonic()
            recording.run(workspace, suite, servers.get(key(suite)), self.processes)
            count = sum(len(tests) for _, tests in recording.of(suite))
            _say(f"{key(suite)}: {count} tests recorded, {time.monotonic() - begun:.0f} s")

    def _try(
        self,
        trials: Trials,
        suites: Sequence[Suite],
        selection: str,
        waiting: Sequence[int],
        rows: list[dict[str, Any]],
        digest: str,
    ) -> None:
        lock = threading.Lock()

        def attempt(number: int) -> tuple[int, float]:
            begun = time.monotonic()
            result = trials.run(number, suites)
            seconds = time.monotonic() - begun
            with lock:
                rows[number][selection] = {**result.row(), "seconds": round(seconds, 1)}
                write_json(self.work / "results.json", {"digest": digest, "rows": rows})
            return number, seconds

        with ThreadPoolExecutor(self.processes) as pool:
            for count, done in enumerate(as_completed([pool.submit(attempt, each) for each in waiting]), 1):
                number, seconds = done.result()
                result = rows[number][selection]
                outcome = f"{result['how']}: {result['by']}" if result["caught"] else "escaped"
                _say(f"{selection} {count} of {len(waiting)}: fault {number}, {seconds:.0f} s, {outcome}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
