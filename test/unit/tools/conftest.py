"""Running the commands in process, as their users do."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import MODELS, RELU, Command, Ran


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the test's own, with a text, and a module of factories. Modules of the folder are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "relu.mlir").write_text(RELU)
    (tmp_path / "subjects.py").write_text(MODELS)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command line, whose first word is the command; `stdin` is what it reads from `-`.

    Whatever happens there is no traceback, a failure says why in few lines, and nothing half-written is left behind.
    """

    def run(*line: str | Path, stdin: bytes = b"") -> Ran:
        name, *arguments = map(str, line)
        main = importlib.import_module(f"et_tools.{name.replace('-', '_')}").main
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = main(arguments)
        sys.stdout.flush()
        ran = Ran(int(code), *capfd.readouterr())
        assert "Traceback" not in ran.err, ran.err
        assert not list(Path.cwd().glob("**/.*.tmp"))
        if code:
            assert ran.err.strip(), "failed without a word"
            assert len(ran.err) < 4000, ran.err
        return ran

    return run
