"""Frozen files stay readable, and what is written today for the same programs says the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from et_schema.bpte import read_bpte
from et_schema.ptd import PtdFile, read_ptd
from et_schema.pte import PteFile, read_pte

FIXTURES = Path(__file__).parents[2] / "fixtures"
FILES = sorted(path.name for path in FIXTURES.iterdir() if path.suffix in (".pte", ".ptd", ".bpte"))
READERS = {".pte": read_pte, ".ptd": read_ptd, ".bpte": read_bpte}


@pytest.mark.parametrize("name", FILES)
def test_is_read(name: str) -> None:
    path = FIXTURES / name
    READERS[path.suffix](path.read_bytes())


def make(folder: Path, seed: str) -> dict[str, bytes]:
    """The script's present output, in a folder of its own."""
    folder.mkdir()
    code = f"import make; from pathlib import Path; make.HERE = Path({str(folder)!r}); make.main()"
    paths = [FIXTURES, FIXTURES.parent, FIXTURES.parents[1]]
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {list(map(str, paths))!r}; {code}"],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def said(data: bytes | memoryview, suffix: str) -> Any:
    """The content of a file, without offsets."""
    file = READERS[suffix](data)
    match file:
        case PteFile():
            return file.program, file.segments
        case PtdFile():
            return file.tensors, file.segments
        case _:
            return said(file.program, ".pte"), file.suites, file.version


def test_the_same_is_written_today(tmp_path: Path) -> None:
    """The content of the frozen files, and the same bytes for every seed of Python's hashes."""
    written = make(tmp_path / "1", "1")
    assert sorted(written) == FILES
    for name, data in written.items():
        suffix = Path(name).suffix
        assert said(data, suffix) == said((FIXTURES / name).read_bytes(), suffix), name
    assert make(tmp_path / "2", "2") == written
