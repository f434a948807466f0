"""Journals of sweeps: results survive whatever ends a process, and folders of others are refused."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import pytest

from et_sweep.journal import Journal, JournalError


def _filled(folder: Path) -> Path:
    journal = Journal(folder, "matrix")
    journal.add("compile", "a", {"compiled": True})
    journal.add("compile", "b", {"compiled": False})
    journal.close()
    return journal.file


def _found(folder: Path) -> tuple[Journal, list[str]]:
    journal = Journal(folder, "matrix")
    found = [digest for digest in "abc" if journal.get("compile", digest) is not None]
    journal.close()
    return journal, found


def test_results_are_kept(tmp_path: Path) -> None:
    _filled(tmp_path)
    journal, found = _found(tmp_path)
    assert found == ["a", "b"]
    assert journal.get("compile", "a") == {"compiled": True}
    assert journal.get("time", "a") is None


def test_killed_while_writing(tmp_path: Path) -> None:
    file = _filled(tmp_path)
    data = file.read_bytes()
    for size in range(len(data)):
        file.write_bytes(data[:size])
        _, found = _found(tmp_path)
        assert found == ["a", "b"][: max(0, data[:size].count(b"\n") - 1)]
        file.write_bytes(data[:size])
        _filled(tmp_path)  # going on gives whole lines
        assert _found(tmp_path)[1] == ["a", "b"]


def test_full_disk(tmp_path: Path) -> None:
    file = _filled(tmp_path)
    data = file.read_bytes()
    journal = Journal(tmp_path, "matrix")
    write = os.write

    def half(descriptor: int, line: bytes) -> int:
        if line.startswith(b"{"):
            return write(descriptor, line[:10])
        raise OSError(28, "No space left on device")

    with patch("os.write", half), pytest.raises(OSError, match="No space left") as caught:
        journal.add("compile", "c", {"compiled": True})
    assert caught.value.filename == str(file)
    assert file.read_bytes() == data
    journal.add("compile", "c", {"compiled": True})
    journal.close()
    assert _found(tmp_path)[1] == ["a", "b", "c"]


def test_damaged_lines_are_done_again(tmp_path: Path) -> None:
    file = _filled(tmp_path)
    head, _, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(head + b'{"kind": \n' + b"[]\n" + last)
    journal, found = _found(tmp_path)
    assert (journal.damaged, found) == (2, ["b"])


def test_one_process_at_a_time(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "matrix")
    with pytest.raises(JournalError, match="another et-sweep works in this folder"):
        Journal(tmp_path, "matrix")
    journal.close()
    Journal(tmp_path, "matrix").close()


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b'{"sweep": "other", "format": 1}\n', "has results of the matrix 'other', not 'matrix'"),
        (b'{"sweep": "matrix", "format": 2}\n', "has results in format 2, not 1"),
        (b"something else\n", "is no journal of a sweep"),
    ],
)
def test_folders_of_others(tmp_path: Path, head: bytes, message: str) -> None:
    (tmp_path / "journal.jsonl").write_bytes(head)
    with pytest.raises(JournalError, match=message):
        Journal(tmp_path, "matrix")
