"""Sweeps: cells of a matrix compiled and timed by an engine, with results kept as they come."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from et_ir.cache.dependences import code_digest, versions
from et_schema.files import atomic_writer
from et_sweep.engines import Engine, LocalEngine
from et_sweep.journal import Journal
from et_sweep.matrix import NONE, Cell, Matrix, read_matrix

__all__ = ["Outcome", "cell_digest", "run"]

TABLE: Final = "table.jsonl"
"""The file of rows in a results folder."""
_FILES: Final = "files"
"""The folder of compiled programs in a results folder."""

Report = Callable[[str, Cell, Mapping[str, Any]], None]
"""Called with `hit`, `compiled`, `failed` or `timed`, the cell, and its columns."""


@dataclass(frozen=True)
class Outcome:
    """The end of a sweep: its rows, in the order of the matrix, and how many cells were found done, and failed."""

    rows: list[dict[str, Any]]
    hits: int
    failures: int


def run(
    matrix: Matrix | str | Path,
    output: str | Path = "results",
    *,
    engine: Engine | None = None,
    cache_folder: str | Path | None = None,
    retry: bool = False,
    report: Report = lambda what, cell, columns: None,
) -> Outcome:
    """Compile, check and time the cells of a matrix, but for those that the folder `output` has results of; with
    `retry`, cells that failed are compiled again. `engine` is where (default: a local process per processor), and
    stays open if it is given. `report` is called with each result.

    The rows are also in `table.jsonl` of the folder, and with pyarrow in `table.parquet`. Raises `MatrixError`,
    `JournalError`, `EngineError`, and `OSError` where results cannot be written: what was done before is kept.
    """
    if not isinstance(matrix, Matrix):
        matrix = read_matrix(matrix)
    folder = Path(output)
    journal = Journal(folder, matrix.name)
    own = LocalEngine(len(os.sched_getaffinity(0))) if engine is None else None
    try:
        sweep = _Sweep(matrix, folder, journal, engine or own, cache_folder)  # pyright: ignore[reportArgumentType]
        hits = sweep.compile(report, retry=retry)
        if matrix.timing.enabled:
            sweep.time(report)
        rows = [sweep.row(cell) for cell in matrix.cells]
        _write_table(folder, rows)
    finally:
        journal.close()
        if own is not None:
            own.close()
    return Outcome(rows, hits, sum(not row["compiled"] for row in rows))


class _Sweep:
    def __init__(
        self, matrix: Matrix, folder: Path, journal: Journal, engine: Engine, cache_folder: str | Path | None
    ) -> None:
        self._matrix = matrix
        self._folder = folder
        self._journal = journal
        self._engine = engine
        self._cache = None if cache_folder is None else str(Path(cache_folder).resolve())
        content = cache(_content)
        self._digests = {cell: cell_digest(matrix, cell, content) for cell in matrix.cells}
        (folder / _FILES).mkdir(exist_ok=True)

    def compile(self, report: Report, *, retry: bool) -> int:
        """Compile what has no result yet; returns how many cells have one."""
        left: list[Cell] = []
        for cell in self._matrix.cells:
            columns = self._compiled(cell)
            if columns is None or (retry and not columns["compiled"]):
                left.append(cell)
            else:
                report("hit", cell, columns)
        requests = [self._request(cell) for cell in left]
        for index, answer in self._engine.compile(requests):
            cell = left[index]
            columns = self._kept(cell, answer)
            report("compiled" if columns["compiled"] else "failed", cell, columns)
        return len(self._matrix.cells) - len(left)

    def _compiled(self, cell: Cell) -> dict[str, Any] | None:
        found = self._journal.get("compile", self._digests[cell])
        is_there = found is not None and (not found["compiled"] or self._file(cell).is_file())
        return found if is_there else None

    def _file(self, cell: Cell) -> Path:
        return self._folder / _FILES / f"{self._digests[cell]}.pte"

    def _request(self, cell: Cell) -> dict[str, Any]:
        return {
            "kind": "compile",
            "model": cell["model"],
            "arguments": cell.arguments,
            "folder": str(self._matrix.folder),
            "cache": self._cache,
            "threads": _threads(cell),
            "seed": self._matrix.seed,
            "timeout": self._matrix.timeout,
        }

    def _kept(self, cell: Cell, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of an answer, once they are in the journal, and its file before."""
        columns = dict(answer.get("columns", {"compiled": False}))
        if "died" in answer:
            columns |= {"message": answer["died"], "output": answer.get("output", "")}
        if "file" in answer:
            with atomic_writer(self._file(cell)) as stream:
                stream.write(answer["file"])
            with atomic_writer(self._file(cell).with_suffix(".inputs")) as stream:
                pickle.dump({"run": answer.get("run"), "inputs": answer.get("inputs")}, stream)
            columns["file"] = f"{_FILES}/{self._file(cell).name}"
        self._journal.add("compile", self._digests[cell], columns)
        return columns

    def time(self, report: Report) -> None:
        """Time what is compiled and has no times yet. Cells of one model and number of threads take turns."""
        groups: dict[tuple[str, int], list[Cell]] = {}
        for cell in self._matrix.cells:
            if self._setting(cell) is not None:
                groups.setdefault((cell["model"], _threads(cell)), []).append(cell)
        timed: list[list[Cell]] = []
        for cells in groups.values():
            new = [cell for cell in cells if self._journal.get("time", self._digests[cell]) is None]
            # The first of a model is what the others are relative to.
            timed += [list(dict.fromkeys([cells[0], *new]))] if new else []
        requests = [self._timing_request(cells) for cells in timed]
        for index, answer in self._engine.time(requests):
            cells = timed[index]
            times = answer.get("times", [{"time_message": answer.get("died")} for _ in cells])
            for cell, columns in zip(cells, times, strict=True):
                if self._journal.get("time", self._digests[cell]) is None:
                    self._journal.add("time", self._digests[cell], columns)
                    report("timed", cell, columns)

    def _setting(self, cell: Cell) -> dict[str, Any] | None:
        """How a compiled cell is run; None for what is not compiled, or cannot be run."""
        columns = self._compiled(cell)
        if columns is None or not columns["compiled"]:
            return None
        found = pickle.loads(self._file(cell).with_suffix(".inputs").read_bytes())
        return None if found["run"] is None else found

    def _timing_request(self, cells: Sequence[Cell]) -> dict[str, Any]:
        timing = self._matrix.timing
        return {
            "kind": "time",
            "programs": [
                {"file": self._file(one).read_bytes(), **(self._setting(one) or {})} for one in cells
            ],
            "folder": str(self._matrix.folder),
            "threads": _threads(cells[0]),
            "seed": self._matrix.seed,
            "noise": timing.noise,
            "seconds": timing.seconds,
            "least": timing.least,
        }

    def row(self, cell: Cell) -> dict[str, Any]:
        """The row of a cell: its values, digest and command, and what is known of it."""
        digest = self._digests[cell]
        return {
            "key": cell.key,
            **cell.json(),
            "digest": digest,
            "command": cell.command,
            "seed": self._matrix.seed,
            **(self._journal.get("compile", digest) or {}),
            **(self._journal.get("time", digest) or {}),
        }


def _threads(cell: Cell) -> int:
    return 1 if cell["threads"] == NONE else int(cell["threads"])


def cell_digest(matrix: Matrix, cell: Cell, content: Callable[[Path], str] | None = None) -> str:
    """A hash of what the result of a cell follows from: its values, the contents of its files, the sources of the
    compiler and of this package, versions of packages, and the seed. `content` gives the hash of a file's contents.

    Of a Python file also the other Python files in its folder count, which it may import; of a folder all files.
    """
    parts = cell["model"].removeprefix("hf:")
    names = [
        parts
        if parts.endswith((".pt2", ".mlir", ".pte")) or parts != cell["model"]
        else parts.rpartition(":")[0]
    ]
    names += [one for one in (cell.loaded,) if one is not None]
    names += [one for one in shlex.split(cell["options"]) if (matrix.folder / one).is_file()]
    facts = {
        "cell": cell.values,
        "files": [(content or _content)(matrix.folder / name) for name in names],
        "code": code_digest("et_sweep"),
        "versions": versions(),
        "seed": matrix.seed,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> str:
    if path.suffix == ".py":
        files = sorted(path.parent.glob("*.py"))
    elif path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file())
    else:
        files = [path] if path.is_file() else []
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\n{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _write_table(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with atomic_writer(folder / TABLE) as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return
    flat = [
        {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
        for row in rows
    ]
    for row in flat:
        row |= {name: float(row[name]) for name in ("error", "sqnr") if row.get(name) is not None}
    with atomic_writer(folder / "table.parquet") as stream:
        parquet.write_table(pyarrow.Table.from_pylist(flat), stream)
