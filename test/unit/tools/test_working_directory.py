"""Modules of the working directory, a user without a home folder, and models that are code of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import RELU, Command

from et_ir.language_models import LanguageModelError, ModelFolder
from et_schema.files import cache_file
from et_schema.processes import python

SHADOWED = ("json", "argparse", "numpy", "pathlib", "et_vm", "ziglang")


@pytest.mark.parametrize(
    "options",
    [
        ("-m", "et_backends.native.runtime.timing"),
        ("-m", "et_vm.backends.timing"),
        ("-c", "import numpy, json"),
    ],
)
def test_processes_do_not_import_modules_of_the_working_directory(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    for name in SHADOWED:
        (tmp_path / f"{name}.py").write_text("open('executed', 'w')")
    subprocess.run(python(*options), cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert not (tmp_path / "executed").exists()


def _without_home(tmp_path: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user without a name and without HOME."""
    code = (
        "import pwd\n"
        "def getpwuid(uid): raise KeyError(f'getpwuid(): uid not found: {uid}')\n"
        "pwd.getpwuid = getpwuid\n"
        f"from et_tools.{line[0].replace('-', '_')} import main\n"
        f"raise SystemExit(main({list(line[1:])!r}))\n"
    )
    environment = {
        name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME", "USER")
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_users_without_a_home_folder(command: Command, tmp_path: Path) -> None:
    Path("relu.mlir").write_text(RELU)
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    for line in (
        ("et-vm", "profile", "relu.pte"),
        ("et-vm", "report", "relu.pte", "--measure", "1", "-o", "relu.html"),
    ):
        ran = _without_home(tmp_path, *line)
        assert ran.returncode == 0, ran.stderr


def test_the_folder_of_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_file("x.json") == tmp_path / "executorch-ir" / "x.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_file("x.json") == tmp_path / "home" / ".cache" / "executorch-ir" / "x.json"

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(FileNotFoundError, match="set XDG_CACHE_HOME"):
        cache_file("x.json")


def test_code_in_the_folder_of_a_model_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "modeling.py").write_text("open('executed', 'w')")
    classes = {"AutoConfig": "modeling.Config", "AutoModelForCausalLM": "modeling.Model"}
    (folder / "config.json").write_text(json.dumps({"model_type": "unheard_of", "auto_map": classes}))
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    header += b" " * (-len(header) % 8)
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    # transformers asks on the terminal where it is not told.
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(LanguageModelError, match="the model is code of its own"):
        ModelFolder(folder).load()
    assert not Path("executed").exists()
