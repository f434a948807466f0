"""The command `et-sweep`: messages for what cannot be swept, before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from et_tools.et_sweep import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text("def net(): ...\n")
    (tmp_path / "matrix.toml").write_text('[axes]\nmodel = "net.py:net"\n')
    (tmp_path / "empty.toml").write_text("[axes]\nmodel = []\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/journal.jsonl").write_text('{"sweep": "other", "format": 1}\n')
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("missing.toml", 2, "missing.toml: No such file or directory"),
        ("net.py", 3, "net.py: "),
        (
            "empty.toml",
            3,
            "empty.toml: the axis model names nothing: give a value, 'none' for cells without it",
        ),
        ("matrix.toml --workers 2 --dask local:2", 2, "give one of --workers, --dask and --scheduler"),
        ("matrix.toml --dask local", 2, "--dask local: expected local:N, a number of workers"),
        ("matrix.toml --baseline other", 2, "--baseline other: table.jsonl cannot be read"),
        (
            "matrix.toml -o other",
            2,
            "other has results of the matrix 'other', not 'matrix': give another folder",
        ),
        ("matrix.toml -o net.py", 2, "net.py is a file, not a folder"),
    ],
)
def test_mistakes(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, code: int, message: str
) -> None:
    assert main(line.split()) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (folder / "results/table.jsonl").exists()
