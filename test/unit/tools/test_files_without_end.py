"""Pipes and devices in the place of files that the user has not named: they are not opened."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.commands import good_files
from fuzz.models import language_model, model_files, tokenizer_files
from support.command_line import Command

from et_tools.exit_codes import ExitCode, guarded


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Ends what waits for a pipe that nobody writes to."""

    def late(*_: object) -> None:
        pytest.fail("the command waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _take_place(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")


KINDS = ("pipe", "device", "folder")

READERS = {
    "run": ("et-vm", "run", "stored.mlir", "--input", "ones"),
    "compare": ("et-vm", "compare", "stored.mlir", "stored.mlir"),
    "opt": ("et-opt", "stored.mlir", "-o", "other.mlir"),
    "compile": ("et-compile", "stored.mlir", "-q", "-o", "other.pte"),
    "translate": ("et-translate", "--mlir-to-pte", "stored.mlir", "-o", "other.pte"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", READERS.values(), ids=READERS)
def test_stores_beside_texts(command: Command, kind: str, line: tuple[str, ...]) -> None:
    name = "planned" if "--mlir-to-pte" in line else "stored"
    Path("stored.mlir").write_bytes(good_files()[f"{name}.mlir"])
    _take_place(Path("stored.safetensors"), kind)
    ran = command(*line)
    assert ran.code == 3
    assert "stored.safetensors: not a weight store: not a regular file" in ran.err


@pytest.mark.parametrize("kind", KINDS)
def test_stores_that_would_be_replaced(command: Command, kind: str) -> None:
    for name in ("planned.mlir", "planned.safetensors"):
        Path(name).write_bytes(good_files()[name])
    _take_place(Path("out.safetensors"), kind)
    ran = command("et-opt", "planned.mlir", "-o", "out.mlir")
    assert ran.code == 2
    assert "out.safetensors" in ran.err
    assert not Path("out.mlir").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_tokenizers_beside_models(command: Command, kind: str, name: str) -> None:
    Path("lm.pte").write_bytes(language_model())
    Path("lm.tokenizer").mkdir()
    for file, content in tokenizer_files().items():
        Path("lm.tokenizer", file).write_bytes(content)
    _take_place(Path("lm.tokenizer", name), kind)
    ran = command("et-vm", "generate", "lm.pte", "--prompt", "a", "--max-new-tokens", "1")
    if name == "tokenizer_config.json":  # need not be there
        assert ran.code == 0, ran.err
    else:
        assert (ran.code, "lm.tokenizer/tokenizer.json: not a regular file" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors.index.json", "model-1.safetensors", "tokenizer.json"]
)
def test_folders_of_models(command: Command, kind: str, name: str) -> None:
    Path("model").mkdir()
    for file, content in model_files().items():
        Path("model", file).write_bytes(content)
    _take_place(Path("model", name), kind)
    ran = command("et-compile", "hf:model", "-q", "-o", "m.pte")
    assert ran.code in ((0, 3) if name == "tokenizer.json" else (3,)), ran.err
    assert ran.code == 0 or ": error: " in ran.err


def test_too_little_memory(capsys: pytest.CaptureFixture[str]) -> None:
    def take(_: list[str]) -> int:
        raise MemoryError("Unable to allocate 1 PiB")

    assert guarded(take, [], "et-vm") == ExitCode.INFEASIBLE_MEMORY
    assert capsys.readouterr().err == "et-vm: error: not enough memory: Unable to allocate 1 PiB\n"
