"""Tables inside of hand-written pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev import document_tables as document


def test_the_pages_are_current() -> None:
    assert document.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("page", "old", "new"), [("vm.md", "| `move` |", "| `mov` |"), ("commands.md", "| 6 |", "| 7 |")]
)
def test_an_outdated_table_is_found_and_rewritten(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: str,
    old: str,
    new: str,
) -> None:
    ((path, tables),) = ((path, tables) for path, tables in document.PAGES.items() if path.name == page)
    text = path.read_text(encoding="utf-8")
    assert old in text
    copy = tmp_path / page
    copy.write_text(text.replace(old, new), encoding="utf-8")
    monkeypatch.setattr(document, "PAGES", {copy: tables})
    assert document.main(["--check"]) == 1
    assert f"{page} is out of date" in capsys.readouterr().err
    assert document.main([]) == 0
    assert document.main(["--check"]) == 0
    assert copy.read_text(encoding="utf-8") == text


def test_marks_must_be_there() -> None:
    with pytest.raises(ValueError, match="no marks for table opcodes"):
        document.fill("", {"opcodes": document.opcode_table})
