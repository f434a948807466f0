"""Frozen files stay readable, and what we write for the same programs stays the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from et_schema.bpte import read_bpte
from et_schema.ptd import read_ptd
from et_schema.pte import read_pte

FIXTURES = Path(__file__).parents[2] / "fixtures"
FILES = sorted(path.name for path in FIXTURES.iterdir() if path.suffix in (".pte", ".ptd", ".bpte"))
READERS = {".pte": read_pte, ".ptd": read_ptd, ".bpte": read_bpte}


@pytest.mark.parametrize("name", FILES)
def test_is_read(name: str) -> None:
    path = FIXTURES / name
    READERS[path.suffix](path.read_bytes())


def test_our_bytes_do_not_change(tmp_path: Path) -> None:
    """The script, told to write somewhere else, writes what is here."""
    code = f"import make; from pathlib import Path; make.HERE = Path({str(tmp_path)!r}); make.main()"
    paths = [FIXTURES, FIXTURES.parent / "unit" / "et_vm", FIXTURES.parents[1]]
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {list(map(str, paths))!r}; {code}"],
        check=True,
        capture_output=True,
    )
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(written) == FILES
    assert [name for name in FILES if written[name] != (FIXTURES / name).read_bytes()] == []
