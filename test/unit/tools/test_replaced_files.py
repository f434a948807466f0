"""Outputs beside the one that is named: of which files they take the place."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.commands import good_files
from support.command_line import Command

PLAN = """program.parameter @w : tensor<2xf32> = #program.data<f32, [1.0, 2.0]> {{executorch.data_file = "{file}"}}
executorch.plan @forward {{arenas = array<i64: 32>}} {{
  %x = executorch.input {{memory_id = 1, offset = 0}} : tensor<2xf32>
  %w = executorch.constant external @w : tensor<2xf32>
  %0 = executorch.alloc {{memory_id = 1, offset = 16}} : tensor<2xf32>
  %one = executorch.value 1 : i64
  executorch.kernel_call "aten::add.out"(%x, %w, %one) outs(%0)
  executorch.return %0
}}
"""


@pytest.mark.parametrize("file", ["../victim", "{folder}/victim", "sub/victim", "..", "a\\1B[2Jb"])
def test_data_files_of_a_text_in_other_folders(command: Command, tmp_path: Path, file: str) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "below").mkdir()
    Path("below/plan.mlir").write_text(PLAN.format(file=file.format(folder=tmp_path)))
    ran = command("et-translate", "--mlir-to-pte", "below/plan.mlir", "-o", "below/plan.pte")
    assert ran.code == 3
    assert "is not a file name without folders" in ran.err
    assert "\x1b" not in ran.err
    assert (tmp_path / "victim").read_text() == "precious"
    assert [path.name for path in Path("below").iterdir()] == ["plan.mlir"]


def test_data_files_take_the_place_of_data_files_only(command: Command) -> None:
    Path("plan.mlir").write_text(PLAN.format(file="notes.txt"))
    Path("notes.txt").write_text("precious")
    line = ("et-translate", "--mlir-to-pte", "plan.mlir", "-o", "plan.pte")
    ran = command(*line)
    assert ran.code == 2
    assert "notes.txt: exists and was not written as such an output" in ran.err
    assert Path("notes.txt").read_text() == "precious"
    assert not Path("plan.pte").exists()
    Path("notes.txt").unlink()
    assert command(*line) == (0, "", "et-translate: note: wrote notes.txt\n")
    assert command(*line).code == 0


@pytest.mark.parametrize("name", ["store.safetensors", "gone.safetensors"])
def test_links_beside_an_output_are_not_followed(command: Command, tmp_path: Path, name: str) -> None:
    """As of a folder that was downloaded: to the store of another program, or to a place where a file would be new."""
    line = ("et-compile", "subjects.py:net", "--emit", "edge", "-q", "-o")
    (tmp_path / "outside").mkdir()
    assert command(*line, "outside/store.mlir").code == 0
    before = {path: path.read_bytes() for path in Path("outside").iterdir()}
    Path("net.safetensors").symlink_to(Path("outside", name))
    ran = command(*line, "net.mlir")
    assert ran.code == 2
    assert "net.safetensors: is a link, and not followed" in ran.err
    assert {path: path.read_bytes() for path in Path("outside").iterdir()} == before
    assert not Path("net.mlir").exists()
    # The user's own names are.
    Path("linked.mlir").symlink_to("outside/new.mlir")
    assert command("et-opt", "outside/store.mlir", "-o", "linked.mlir").code == 0
    assert Path("outside/new.mlir").exists()


def test_weights_beside_a_text_are_those_of_a_text(command: Command) -> None:
    """A folder of a model has `model.safetensors`, which is not the store of `model.mlir`."""
    assert command("et-compile", "subjects.py:net", "--emit", "edge", "-q", "-o", "net.mlir").code == 0
    precious = b"\x02\0\0\0\0\0\0\0[]"
    Path("model.safetensors").write_bytes(precious)
    for line in (
        ("et-compile", "subjects.py:net", "--emit", "edge", "-q", "-o", "model.mlir"),
        ("et-opt", "net.mlir", "-o", "model.mlir"),
    ):
        ran = command(*line)
        assert ran.code == 2
        assert "model.safetensors: exists and was not written as such an output" in ran.err
        assert Path("model.safetensors").read_bytes() == precious
        assert not Path("model.mlir").exists()
    Path("model.safetensors").unlink()
    assert command("et-opt", "net.mlir", "-o", "model.mlir").code == 0
    assert command("et-opt", "net.mlir", "-o", "model.mlir").code == 0


def test_headers_beside_an_object_are_those_of_an_object(command: Command) -> None:
    Path("net.h").write_text("/* precious */\n")
    line = ("et-compile", "relu.mlir", "--target", "cortex-m7", "--emit", "object", "-q", "-o", "net.o")
    ran = command(*line)
    assert ran.code == 2
    assert "net.h: exists and was not written as such an output" in ran.err
    assert Path("net.h").read_text() == "/* precious */\n"
    Path("net.h").unlink()
    assert command(*line).code == 0
    assert command(*line).code == 0


@pytest.mark.parametrize(
    "line",
    [
        "et-opt stored.mlir -o stored.safetensors",
        "et-opt stored.mlir -o stored.txt",
        "et-opt net.mlir --weights stored.safetensors -o ./stored.safetensors",
        "et-opt stored.mlir --weights stored.safetensors -o linked.safetensors",
        "et-reduce stored.mlir --keep true -q -o stored.safetensors",
        "et-compile stored.mlir -q -o stored.safetensors",
        "et-compile stored.mlir -q --emit edge -o stored.txt",
        "et-translate --pte-to-mlir good.pte -o good.pte",
        "et-translate --mlir-to-pte planned.mlir -o planned.mlir",
        "et-translate --mlir-to-pte planned.mlir -o planned.safetensors",
        "et-vm report good.pte -o ../files/good.pte",
        "et-vm report good.pte --debug-map map.json -o map.json",
        "et-vm report net.py:net -o net.py",
        "et-vm bundle good.pte --input ones -o good.pte",
        "et-vm bundle good.pte --input x.npy -o x.npy",
        "et-vm ops good.pte -o good.pte",
        "et-vm profile good.pte --repeat 1 --no-peak --trace good.pte",
        "et-vm profile good.pte --repeat 1 --no-peak --flamegraph good.pte",
        "et-vm profile good.pte --repeat 1 --no-peak --write-etdump good.pte",
        "et-vm info good.pte --plan --svg linked.pte",
    ],
)
def test_inputs_are_not_replaced(
    command: Command, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files").mkdir()
    monkeypatch.chdir(tmp_path / "files")
    for name, content in good_files().items():
        Path(name).write_bytes(content)
    Path("net.py").write_text("def net(): ...\n")
    Path("linked.safetensors").symlink_to("stored.safetensors")
    Path("linked.pte").symlink_to("good.pte")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    ran = command(*line.split())
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    assert ran.code == 2
    assert "would overwrite" in ran.err


def test_texts_and_bundles_are_replaced_by_their_own(command: Command) -> None:
    for name, content in good_files().items():
        Path(name).write_bytes(content)
    for line in (
        "et-opt stored.mlir -o stored.mlir",
        "et-opt stored.mlir --weights stored.safetensors -o stored.mlir",
        "et-vm bundle good.bpte --input ones -o good.bpte",
    ):
        assert command(*line.split()).code == 0
