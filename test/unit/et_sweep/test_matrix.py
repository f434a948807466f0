"""Matrix files: cells, filters, and messages for what cannot be swept."""

from __future__ import annotations

from pathlib import Path

import pytest

from et_sweep.matrix import MatrixError, Timing, read_matrix


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text("def small(): ...\ndef wide(): ...\n")
    return tmp_path


def _read(folder: Path, text: str):
    file = folder / "matrix.toml"
    file.write_text(text)
    return read_matrix(file)


AXES = '[axes]\nmodel = ["net.py:small", "net.py:wide"]\nbackend = ["none", "xnnpack"]\nlevel = [1, "s"]\n'


def test_cells_are_the_product_of_axes(folder: Path) -> None:
    matrix = _read(folder, AXES)
    assert [cell.key for cell in matrix.cells][:3] == [
        "model=net.py:small level=1",
        "model=net.py:small level=s",
        "model=net.py:small backend=xnnpack level=1",
    ]
    assert len(matrix.cells) == 8
    assert matrix.name == "matrix"
    assert matrix.cells[3].command == "et-compile net.py:small --backend xnnpack -Os -o model.pte"


def test_filters(folder: Path) -> None:
    text = (
        AXES + '[[exclude]]\nmodel = "net.py:wide"\n[[include]]\nmodel = "net.py:wide"\nquantize = "int8"\n'
    )
    assert [cell.key for cell in _read(folder, text).cells][4:] == ["model=net.py:wide quantize=int8"]


def test_files_with_passes_and_other_options(folder: Path) -> None:
    (folder / "fma.py").write_text("")
    text = '[axes]\nmodel = "net.py:small"\nload = "fma.py edge:fuse-fma"\noptions = "--preserve my::op"\n'
    (cell,) = _read(folder, text).cells
    assert cell.arguments == ["--load", "fma.py", "--pass", "edge:fuse-fma", "--preserve", "my::op"]


def test_settings(folder: Path) -> None:
    matrix = _read(
        folder, f'name = "nightly"\nseed = 7\ntimeout = 5\n{AXES}[timing]\nnoise = 0.1\nleast = 3\n'
    )
    assert (matrix.name, matrix.seed, matrix.timeout) == ("nightly", 7, 5.0)
    assert matrix.timing == Timing(noise=0.1, least=3)
    assert not _read(folder, f"timing = false\n{AXES}").timing.enabled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no axis of models"),
        ("a =", "Invalid value"),
        ("axis = 1", "axis: there is no such key, did you mean 'axes'?"),
        (
            '[axes]\nmodel = "net.py:small"\nbackends = 1',
            "axes.backends: there is no such key, did you mean 'backend'?",
        ),
        ("[axes]\nmodel = []", "the axis model names nothing"),
        ("[axes]\nmodel = [1.5]", "the axis model: 1.5 is neither a text nor a whole number"),
        ('[axes]\nmodel = "gone.py:small"', "the axis model: gone.py is no file in"),
        ('[axes]\nmodel = "hf:gone"', "the axis model: gone is no folder in"),
        ('[axes]\nmodel = "package.module:small"', "is no file.py:factory, .pt2 or hf:FOLDER"),
        ('[axes]\nmodel = "small"', "is no file.py:factory, .pt2 or hf:FOLDER"),
        ('[axes]\nmodel = ["net.py:small", "net.py:small"]', "two cells have the key model=net.py:small"),
        ('[axes]\nmodel = "net.py:small"\nlevel = 3', "'3' is no level, give one of 0, 1, 2, s"),
        ('[axes]\nmodel = "net.py:small"\nthreads = 0', "'0' is not a positive number"),
        ('[axes]\nmodel = "net.py:small"\nload = "gone.py"', "the axis load: gone.py is no file in"),
        (
            '[axes]\nmodel = "net.py:small"\nbackend = "xnpack"',
            "no backend 'xnpack', did you mean 'xnnpack'?",
        ),
        ('[axes]\nmodel = "net.py:small"\ntarget = "et-vn"', "the axis target: "),
        (
            f'{AXES}[[exclude]]\nmodel = "net.py:smal"',
            "the axis model has no value 'net.py:smal', did you mean",
        ),
        (f"{AXES}[[exclude]]\nlevels = 1", "exclude[0].levels: there is no such key, did you mean 'level'?"),
        (f'{AXES}[[exclude]]\nmodel = ["net.py:small", "net.py:wide"]', "the filters leave no cell"),
        (f"{AXES}[[exclude]]\nlevel = 1\n[[exclude]]\nlevel = 1", "exclude[1] excludes no cell: level = 1"),
        (f"{AXES}[[include]]\nlevel = 1", "include[0] has no model"),
        (f"{AXES}[timing]\nnoise = -1", "timing.noise is not a number from 1e-06"),
        (f"{AXES}[timing]\nbound = 1", "timing.bound: there is no such key"),
        (f"seed = true\n{AXES}", "seed is not a number from 0"),
    ],
)
def test_mistakes(folder: Path, text: str, message: str) -> None:
    with pytest.raises(MatrixError) as caught:
        _read(folder, text)
    assert message in str(caught.value)
    assert str(folder / "matrix.toml") in str(caught.value)
