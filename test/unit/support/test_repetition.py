"""The last line of a test that fails, and of the run: the command that runs it alone."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.repetition import SETTINGS, TITLE, command

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
TESTS = """
import pytest

@pytest.fixture
def broken():
    raise ValueError

@pytest.mark.parametrize("text", ["a b", "it's"])
def test_fails(text):
    print("printed")
    assert text == "c"

def test_passes():
    pass

def test_setup(broken):
    pass
"""


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this run was set to is no part of the commands here."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "test"))
    return pytester


def run(folder: pytest.Pytester, *options: str) -> list[str]:
    """The lines that a run prints."""
    return folder.runpytest_subprocess("-p", "support.repetition", "-q", *options).stdout.lines


def last_lines(lines: list[str]) -> list[str]:
    """Of the reports of the tests that failed."""
    return [lines[at + 1] for at, line in enumerate(lines) if TITLE in line]


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_commands(folder: pytest.Pytester, options: list[str]) -> None:
    folder.makepyfile(test_few=TESTS)
    lines = run(folder, *options)
    python = shlex.quote(sys.executable)
    names = [
        "'test_few.py::test_fails[a b]'",
        """'test_few.py::test_fails[it'"'"'s]'""",
        "test_few.py::test_setup",
    ]
    assert sorted(last_lines(lines)) == sorted(f"{python} -m pytest {name}" for name in names)
    last = shlex.split(lines[-1])
    assert last[:3] == [sys.executable, "-m", "pytest"]
    assert sorted(last[3:]) == sorted(shlex.split(" ".join(names)))
    # They do run it: nothing else, with the same failure.
    again = subprocess.run(shlex.split(last_lines(lines)[0]), capture_output=True, text=True, check=False)
    assert "1 failed in" in again.stdout or "1 error in" in again.stdout


def test_nothing_after_success(folder: pytest.Pytester) -> None:
    folder.makepyfile(test_good="def test_passes(): pass")
    assert run(folder)[-1].startswith("1 passed")


def test_files_that_cannot_be_imported(folder: pytest.Pytester) -> None:
    folder.makepyfile(test_bad="import nothing_of_this_name")
    lines = run(folder)
    assert last_lines(lines) == [lines[-1]] == [shlex.join([sys.executable, "-m", "pytest", "test_bad.py"])]


def test_many_failures(folder: pytest.Pytester) -> None:
    folder.makepyfile(
        test_many="import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_fails(n): assert n < 0"
    )
    assert run(folder)[-1] == shlex.join([sys.executable, "-m", "pytest", "--last-failed"])


def test_a_worker_that_crashes(folder: pytest.Pytester) -> None:
    folder.makepyfile(test_crash="import os\ndef test_dies(): os.abort()")
    assert run(folder, "-n", "1", "--max-worker-restart", "0")[-1].endswith(" test_crash.py::test_dies")


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that change the results are named, but what every test has."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    python = Path(sys.executable)
    line = command("pytest", ["x"], python.parents[1])
    assert line == f"PYTHONHASHSEED=7 CI=true bin/{python.name} -m pytest x"
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert command("pytest", [], python.parents[1]).startswith("OMP_NUM_THREADS=4 ")


def test_lit(tmp_path: Path) -> None:
    """A configuration with the format of our lit tests, and a test that fails."""
    folder = tmp_path / "test/lit"
    folder.mkdir(parents=True)
    for name in ("runs.py", "lit.cfg.py"):
        shutil.copy(ROOT / "test/lit" / name, folder)
    (folder / "good.test").write_text("# RUN: true\n")
    (folder / "bad.test").write_text("# RUN: false\n")
    lit = str(Path(sys.executable).with_name("lit"))
    done = subprocess.run([lit, "-sv", "test/lit"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[-1].endswith("lit -v test/lit/bad.test")
    assert lines.count(lines[-1]) == 2


def test_modules_of_this_folder() -> None:
    line = command("fuzz", ["--first", "7"])
    assert " -m fuzz --first 7" in line
    assert line.startswith("PYTHONPATH=test ")
    done = subprocess.run(f"{line} --help", shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("usage: python -m fuzz")
