"""Files are made once per key, and an interrupted one is never taken for finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples.artefacts import digest, keep, package


def test_made_once_per_key(tmp_path: Path) -> None:
    made: list[str] = []

    def make(draft: Path) -> dict[str, Any]:
        made.append("x")
        draft.write_text(f"content {len(made)}")
        return {"count": len(made)}

    path = tmp_path / "deep" / "file.bin"
    assert keep(path, "a", make) == ({"count": 1}, True)
    assert keep(path, "a", make) == ({"count": 1}, False)
    assert keep(path, "b", make) == ({"count": 2}, True)
    assert path.read_text() == "content 2"
    path.unlink()
    assert keep(path, "b", make) == ({"count": 3}, True)


def test_failure_leaves_nothing_to_trust(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"

    def fail(draft: Path) -> dict[str, Any]:
        draft.write_text("half")
        raise KeyboardInterrupt

    def make(draft: Path) -> dict[str, Any]:
        draft.write_text("whole")
        return {}

    keep(path, "a", make)
    with pytest.raises(KeyboardInterrupt):
        keep(path, "b", fail)
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin"]
    assert keep(path, "a", make) == ({}, True)


def test_digest_sees_names_contents_and_borders(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    one = digest(tmp_path)
    (tmp_path / "notes.md").write_text("no source")
    assert digest(tmp_path) == one
    (tmp_path / "a.py").write_text("2")
    assert digest(tmp_path) != one
    assert digest("ab", "c") != digest("a", "bc")


def test_unknown_package() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        package("no_such_package")
