"""The texts of data files, compressed or not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from et_ops.data_files import text_of


def test_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    with pytest.raises(FileNotFoundError, match=r"table\.txt"):
        text_of(path)
    (tmp_path / "table.txt.gz").write_bytes(gzip.compress("übersetzt\nzwei\n".encode()))
    assert text_of(path) == "übersetzt\nzwei\n"
    path.write_text("as it is\n", encoding="utf-8")
    assert text_of(path) == "as it is\n"
