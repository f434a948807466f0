"""Sweeps of 3 models × 3 backends × 2 levels on every engine: whatever dies, the table is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from et_sweep import run
from et_sweep.engines import DaskEngine, Engine, EngineError, LocalEngine
from et_sweep.journal import JournalError
from et_sweep.matrix import read_matrix

MODELS = """
import os, signal, pathlib
import torch
from torch import nn

def _made(module, *inputs):
    return module.eval(), inputs

def linear():
    torch.manual_seed(0)
    return _made(nn.Linear(4, 3), torch.randn(2, 4))

def rectified():
    torch.manual_seed(0)
    return _made(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), torch.randn(2, 4))

def sine():
    class Sine(nn.Module):
        def forward(self, x):
            return torch.sin(x) + 1
    return _made(Sine(), torch.ones(3))

def raising():
    raise ValueError("no weights")

def dying():
    os.kill(os.getpid(), signal.SIGSEGV)

def endless():
    while True:
        pass

def killing_once():
    mark = pathlib.Path("killed")
    if not mark.exists():
        mark.touch()
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return linear()
"""
MATRIX = """
[axes]
model = ["nets.py:linear", "nets.py:rectified", "nets.py:sine"]
backend = ["none", "xnnpack", "native"]
level = [1, 2]
[timing]
noise = 0.5
seconds = 0.2
"""
PART = MATRIX.replace(', "native"]', "]").replace("[1, 2]", "[1]")
"""Six of these cells."""
SAME = (
    *("key", "digest", "command", "compiled", "message", "file_bytes", "delegated_share", "partitions"),
    *("arena_bytes", "arena_bound_bytes", "error", "sqnr"),
)
"""Columns that do not depend on the machine's speed."""
MAIN = "import sys; from et_tools.et_sweep import main; sys.exit(main())"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(MODELS)
    (tmp_path / "matrix.toml").write_text(PART)
    return tmp_path


@pytest.fixture(scope="module")
def local() -> Iterator[LocalEngine]:
    engine = LocalEngine(2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def expected(local: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The table of a sweep that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "nets.py").write_text(MODELS)
    (folder / "matrix.toml").write_text(MATRIX)
    rows = run(folder / "matrix.toml", folder / "results", engine=local).rows
    assert all(row["noise"] is not None and row["executions"] >= 5 for row in rows)
    return _same(rows)


@pytest.fixture(scope="module")
def part(expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Its rows of the part."""
    return [row for row in expected if "native" not in row["key"] and row["key"].endswith("level=1")]


def _same(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row.get(name) for name in SAME} for row in rows]


def _table(folder: Path) -> list[dict[str, Any]]:
    return _same([json.loads(line) for line in (folder / "results/table.jsonl").read_text().splitlines()])


def _compiled(folder: Path) -> list[str]:
    lines = (folder / "results/journal.jsonl").read_text().splitlines()[1:]
    return [one["digest"] for one in map(json.loads, lines) if one["kind"] == "compile"]


def _started(folder: Path, *options: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-c", MAIN, "matrix.toml", *options]
    return subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True)


def _wait(folder: Path, lines: int, process: subprocess.Popen[str]) -> None:
    """Until the journal has so many lines."""
    journal = folder / "results/journal.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_small_form(expected: list[dict[str, Any]]) -> None:
    rows = {row["key"]: row for row in expected}
    assert len(rows) == 18
    assert all(row["compiled"] for row in expected)
    assert rows["model=nets.py:rectified backend=xnnpack level=1"]["delegated_share"] == 1
    assert rows["model=nets.py:rectified level=1"]["delegated_share"] == 0
    assert rows["model=nets.py:rectified level=1"]["arena_bytes"] >= 2 * 8 * 4
    assert all(row["arena_bound_bytes"] <= row["arena_bytes"] for row in expected)
    assert all(row["error"] < 1e-5 for row in expected)


def test_nothing_is_done_twice(folder: Path, local: LocalEngine) -> None:
    first = run(folder / "matrix.toml", folder / "results", engine=local)
    before = (folder / "results/journal.jsonl").read_bytes()
    (folder / "README.md").write_text("documentation")
    again = run(folder / "matrix.toml", folder / "results", engine=local)
    assert (first.hits, again.hits) == (0, 6)
    assert again.rows == first.rows
    assert (folder / "results/journal.jsonl").read_bytes() == before
    (folder / "nets.py").write_text(MODELS + "\n")
    assert run(folder / "matrix.toml", folder / "results", engine=local).hits == 0


def test_failures_are_rows(folder: Path, local: LocalEngine) -> None:
    (folder / "matrix.toml").write_text(
        'timeout = 9\n[axes]\nmodel = ["nets.py:raising", "nets.py:dying", "nets.py:endless", "nets.py:linear"]\n'
    )
    outcome = run(folder / "matrix.toml", folder / "results", engine=local)
    raising, dying, endless, linear = outcome.rows
    assert "the factory nets.py:raising failed: " in raising["message"]
    assert "no weights" in raising["message"]
    assert dying["message"] == "the process ended by SIGSEGV"
    assert endless["message"] == "the time limit of 9 s has passed"
    assert linear["compiled"]
    assert linear["median_seconds"] > 0
    assert outcome.failures == 3
    (folder / "matrix.toml").write_text('[axes]\nmodel = ["nets.py:raising", "nets.py:linear"]\n')
    assert run(folder / "matrix.toml", folder / "results", engine=local).hits == 2
    assert run(folder / "matrix.toml", folder / "results", engine=local, retry=True).hits == 1


def test_worker_is_killed_in_a_cell(folder: Path, local: LocalEngine) -> None:
    (folder / "matrix.toml").write_text('[axes]\nmodel = ["nets.py:killing_once", "nets.py:linear"]\n')
    killed, linear = run(folder / "matrix.toml", folder / "results", engine=local).rows
    assert (folder / "killed").exists()
    assert killed["compiled"]
    assert killed["file_bytes"] == linear["file_bytes"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_sweep_is_stopped(folder: Path, part: list[dict[str, Any]], local: LocalEngine, how: int) -> None:
    process = _started(folder, "--workers", "2", "-q")
    _wait(folder, 3, process)
    process.send_signal(how)
    _, error = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130), error
    assert how == signal.SIGKILL or "et-sweep: interrupted" in error
    done = _compiled(folder)
    outcome = run(folder / "matrix.toml", folder / "results", engine=local)
    assert outcome.hits == len(done)
    assert 0 < len(done) < 6
    assert _table(folder) == part
    assert len(set(_compiled(folder))) == len(_compiled(folder)) == 6


def test_full_disk(folder: Path, part: list[dict[str, Any]], local: LocalEngine) -> None:
    from et_schema import files

    count = [0]
    writer = files.atomic_writer

    @contextmanager
    def full(path: str | os.PathLike[str]) -> Iterator[Any]:
        count[0] += 1
        if count[0] > 5:
            raise OSError(28, "No space left on device", os.fspath(path))
        with writer(path) as stream:
            yield stream

    with patch("et_sweep.sweep.atomic_writer", full), pytest.raises(OSError, match="No space left"):
        run(folder / "matrix.toml", folder / "results", engine=local)
    outcome = run(folder / "matrix.toml", folder / "results", engine=local)
    assert outcome.hits == 2
    assert _table(folder) == part


def test_results_of_another_matrix(folder: Path, local: LocalEngine) -> None:
    (folder / "matrix.toml").write_text('name = "one"\n[axes]\nmodel = "nets.py:linear"\n')
    run(folder / "matrix.toml", folder / "results", engine=local)
    (folder / "matrix.toml").write_text('name = "other"\n[axes]\nmodel = "nets.py:linear"\n')
    with pytest.raises(JournalError, match="has results of the matrix 'one', not 'other'"):
        run(folder / "matrix.toml", folder / "results", engine=local)


def _dask(*words: str, folder: Path) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    return subprocess.Popen(line, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True)


def _address(file: Path) -> str:
    while not file.exists() or not file.read_text().strip():
        time.sleep(0.05)
    return json.loads(file.read_text())["address"]


@contextmanager
def _cluster(
    folder: Path, name: str
) -> Iterator[tuple[str, subprocess.Popen[bytes], list[subprocess.Popen[bytes]]]]:
    """A scheduler with two workers in processes of their own."""
    file = folder / f"{name}.json"
    where = ["--scheduler-file", str(file)]
    scheduler = _dask(
        "dask_scheduler", "--port", "0", "--no-dashboard", *where, "--host", "127.0.0.1", folder=folder
    )
    workers: list[subprocess.Popen[bytes]] = []
    try:
        address = _address(file)
        settings = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        workers += [_dask("dask_worker", address, *settings, folder=folder) for _ in range(2)]
        yield address, scheduler, workers
    finally:
        for one in (*workers, scheduler):
            one.kill()
            one.wait()


def test_dask_loses_a_worker_and_its_scheduler(folder: Path, part: list[dict[str, Any]]) -> None:
    with _cluster(folder, "first") as (address, scheduler, workers):
        process = _started(folder, "--scheduler", address, "-q")
        _wait(folder, 2, process)
        workers[0].kill()
        _wait(folder, 3, process)
        scheduler.kill()
        _, error = process.communicate(timeout=120)
        assert process.returncode == 2, error
        assert "the scheduler is gone" in error
    done = _compiled(folder)
    assert 2 <= len(done) < 6
    with _cluster(folder, "second") as (address, _, _):
        engine: Engine = DaskEngine(address)
        try:
            outcome = run(folder / "matrix.toml", folder / "results", engine=engine)
        finally:
            engine.close()
    assert outcome.hits == len(done)
    assert _table(folder) == part
    assert all(row["median_seconds"] > 0 for row in outcome.rows)
    assert sorted(_compiled(folder)) == sorted(row["digest"] for row in part)


def test_no_scheduler() -> None:
    with pytest.raises(EngineError, match="there is no scheduler"):
        DaskEngine("tcp://127.0.0.1:9")


def test_digests_are_those_of_contents(folder: Path, part: list[dict[str, Any]]) -> None:
    from et_sweep.sweep import cell_digest

    matrix = read_matrix(folder / "matrix.toml")
    assert [cell_digest(matrix, cell) for cell in matrix.cells] == [row["digest"] for row in part]
