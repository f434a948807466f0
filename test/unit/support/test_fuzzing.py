"""Targets of `test/fuzz`: good inputs are read, and each kind of fault is a violation."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from fuzz import limits
from fuzz.cases import TARGETS, make_case, run_case, run_target
from fuzz.commands import COMMANDS, good_files, run_command
from fuzz.limits import limited
from fuzz.targets import Case, Target, Violation
from fuzz.workers import STUCK, Run, Worker

from et_schema.errors import InputError
from et_tools.vm_verbs import VERBS

READERS = {
    "ptd": "ran",
    "bpte": "ran",
    "store": "read",
    "arrays": r"\d inputs?",
    "etdump": "read",
    "etrecord": "read",
    "debug map": "read",
    "schema": "matched",
    "expression": "matched",
    "tokenizer": "read",
    "template": "rendered",
    "session": "went on",
    "wave": "read",
    "image": "read",
}
"""What becomes of good inputs."""


@pytest.mark.parametrize(("kind", "outcome"), READERS.items(), ids=READERS)
def test_good_inputs(kind: str, outcome: str, tmp_path: Path) -> None:
    for base, content in TARGETS[kind].inputs().items():
        assert re.fullmatch(outcome, run_case(Case(0, kind, base, content), tmp_path)), base


@pytest.mark.parametrize("kind", sorted(set(TARGETS) - {"pte", "again"}))
def test_cases_differ(kind: str) -> None:
    assert len({make_case(seed, (kind,)).content for seed in range(30)}) > 10


def test_cases_are_the_same_in_each_process() -> None:
    """At other times, and with another order of sets."""
    code = (
        "import hashlib\n"
        "from fuzz.cases import TARGETS, make_case\n"
        "cases = [make_case(seed, (kind,)) for kind in TARGETS for seed in range(20)]\n"
        "print(hashlib.sha256(repr(cases).encode()).hexdigest())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(2)
    }
    assert len(found) == 1


@pytest.mark.parametrize("line", COMMANDS)
def test_good_files_of_commands(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that damage is found where it is, and not behind another error. No pass makes a good program wrong."""
    monkeypatch.chdir(tmp_path)
    for name, content in good_files().items():
        Path(name).write_bytes(content)
    code, _, err = run_command(line.replace("!", ""))
    assert code == line.startswith("et-bisect"), err


def test_every_verb_is_a_target() -> None:
    lines = " ".join(COMMANDS)
    # The runtime in C is compiled for lists of operators, which `ops` writes.
    assert [verb.name for verb in VERBS if f"et-vm {verb.name} " not in lines] == ["build"]


def _target(read: Callable[[Path], object]) -> Target:
    def outcome(case: Case, folder: Path) -> str:
        del case
        read(folder)
        return "read"

    return Target(lambda: {"": b""}, lambda _, data, random: data[: random.randrange(1)], outcome, share=1)


def _hang(folder: Path) -> None:
    del folder
    while True:
        pass


def _swallow(folder: Path) -> None:
    with suppress(OSError):
        (folder.parent / "stray").write_bytes(b"")


def _raise(error: Exception) -> Callable[[Path], None]:
    def fail(folder: Path) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (_hang, "still running after 0.5 s"),
        (lambda _: b"x" * (200 << 20), "took 2"),
        (_swallow, "stray access: wrote .*stray"),
        (lambda folder: (folder / ".." / "stray").write_bytes(b""), "stray access: wrote .*stray"),
        (lambda folder: Path(__file__).rename(folder / "x"), "stray access: os.rename .*test_fuzzing"),
        (lambda folder: (folder.parent / "made").mkdir(), "stray access: os.mkdir"),
        (lambda _: Path("/etc/passwd").read_bytes(), "stray access: read /etc/passwd"),
        (lambda _: subprocess.run([sys.executable, "-c", ""], check=False), "stray access: started"),
        (lambda _: os.system("true"), "stray access: started"),
        (lambda _: socket.create_connection(("127.0.0.1", 9)), "stray access: socket"),
        (_raise(KeyError("x")), "KeyError: 'x'"),
        (_raise(SystemExit(3)), "SystemExit: 3"),
    ],
)
def test_violations(
    read: Callable[[Path], object], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    with pytest.raises(Violation, match=message):
        run_target(_target(read), Case(0, "", "", b""), tmp_path)


def test_what_is_allowed(tmp_path: Path) -> None:
    def read(folder: Path) -> None:
        Path("relative").write_bytes(b"")
        (folder / "relative").rename("renamed")
        Path("renamed").unlink()
        Path(os.devnull).write_bytes(b"")
        with open(__file__, "rb") as file:
            file.read()

    assert run_target(_target(read), Case(0, "", "", b""), tmp_path) == "read"
    assert run_target(_target(_raise(InputError("x"))), Case(0, "", "", b""), tmp_path) == "InputError"
    assert limited(tmp_path, lambda: subprocess.run(["true"], check=True), starts=("true",)).returncode == 0
    # Outside of cases nothing is watched.
    assert Path("/etc/passwd").read_bytes()


def test_seeds_choose_by_shares() -> None:
    kinds = [make_case(seed).kind for seed in range(300)]
    assert kinds.count("pte") > 150
    assert len(set(kinds)) > 10


def test_processes_that_are_stuck() -> None:
    """As in a loop in C, which no signal handler of Python interrupts."""
    run = Run(0, 10, None)
    process = _Process()
    worker = Worker(process, None, SimpleNamespace(value=3))  # pyright: ignore[reportArgumentType]
    run._open[None] = (worker, range(10))  # pyright: ignore[reportArgumentType]
    run._kill_stuck(100.0)
    run._kill_stuck(100.0 + STUCK)
    assert not process.is_killed
    worker.seed.value = 4
    run._kill_stuck(101.0 + STUCK)
    run._kill_stuck(101.0 + 2 * STUCK)
    assert not process.is_killed
    run._kill_stuck(102.0 + 2 * STUCK)
    assert process.is_killed


class _Process:
    pid = 7
    is_killed = False

    def kill(self) -> None:
        self.is_killed = True
