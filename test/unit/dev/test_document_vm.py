import pytest

from dev import document_vm as document


def test_the_page_is_current():
    assert document.main(["--check"]) == 0


def test_what_is_out_of_date_is_found_and_mended(tmp_path, monkeypatch, capsys):
    page = tmp_path / "vm.md"
    page.write_text(
        document.PAGE.read_text(encoding="utf-8").replace("| `move` |", "| `mov` |"), encoding="utf-8"
    )
    monkeypatch.setattr(document, "PAGE", page)
    assert document.main(["--check"]) == 1
    assert "out of date" in capsys.readouterr().err
    assert document.main([]) == 0
    assert document.main(["--check"]) == 0


def test_marks_must_be_there():
    with pytest.raises(ValueError, match="no marks for table opcodes"):
        document.fill("")
