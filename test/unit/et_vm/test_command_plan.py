"""et-vm info --plan: the pictures of a plan, as letters and as a drawing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.vm_commands import run
from support.vm_programs import Build

from et_schema.program import Frame
from et_tools.et_vm import main
from et_tools.info.plan_picture import picture
from et_tools.info.plan_svg import svg

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.pte"))
OTHER_DEVICES = "devices"
"""A file for arenas on a device that et-vm has not."""
SVG = "{http://www.w3.org/2000/svg}"


def model() -> Build:
    build = Build()
    x, y, out = build.tensor(4), build.tensor(4), build.tensor(4, offset=0)
    build.tensor(4)  # nothing uses it
    cache = build.state(np.zeros(2, np.float32), name='<"cache" & \x01\ud7ff>', memory_id=2)
    build.add(
        x,
        x,
        y,
        frames=[Frame(filename="net.py", lineno=3, name="forward", context="return x + x if x < y else y")],
    )
    build.add(y, y, out)
    build.call("test::increment_", cache, cache)
    build.inputs(x)
    build.outputs(out)
    return build


def drawn(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> ElementTree.Element:
    run(capsys, "info", file, "--plan", "--svg", str(tmp_path / "plan.svg"))
    return ElementTree.parse(tmp_path / "plan.svg").getroot()


def test_svg(capsys: pytest.CaptureFixture[str], file: Callable[..., str], tmp_path: Path) -> None:
    root = drawn(capsys, file(model()), tmp_path)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == [
        "%0 float32 [4]\n16 bytes at 0\ninput, needed from the start to instruction 0",
        "%2 float32 [4]\n16 bytes at 0\ntest::add.out, needed from instruction 1 to the end",
        "%1 float32 [4]\n16 bytes at 16\ntest::add.out, needed from instruction 0 to instruction 1\n"
        "net.py:3 in forward: return x + x if x < y else y",
        '%4 float32 [2] <"cache" & \ufffd\ud7ff>\n8 bytes at 0\nstate, needed from the start to the end',
    ]
    rectangles = {
        title.text.split()[0]: {key: rect.get(key) for key in ("x", "y", "width", "height", "fill")}
        for rect in root.iter(f"{SVG}rect")
        for title in rect.iter(f"{SVG}title")
        if title.text
    }
    one, two, three = (rectangles[f"%{register}"] for register in range(3))
    assert two["fill"] == three["fill"] != one["fill"]
    assert float(one["x"]) < float(three["x"])
    assert one["y"] == three["y"] != two["y"]
    # Not all renderers know hsl().
    assert all(re.fullmatch("#[0-9a-f]{6}|none", rect.get("fill", "")) for rect in root.iter(f"{SVG}rect"))
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert {"add", "0", "2", "12 B", "48 B", "peak of live bytes: 32 at instruction 0 (test::add.out)"} <= {
        *labels
    }


def test_concatenation_in_place() -> None:
    """A tensor that nothing writes as such has the colors of the tensors that were written into its memory."""
    parts = [tensor(0, 8, 0, 0) | {"op": "left"}, tensor(8, 8, 1, 1) | {"op": "right"}]
    whole = tensor(0, 16, 2, 3)
    tensors = [
        {**each, "register": at, "dtype": "float32", "shape": [4]} for at, each in enumerate([*parts, whole])
    ]
    arena = {
        "method": "forward",
        "arena": 1,
        "instructions": 4,
        "nbytes": 16,
        "in_use": 16,
        "usage": [0, 8, 16, 16, 16, 0],
        "bound": 16,
        "gap": 0,
        "optimal": True,
        "alignment": 8,
        "needed_by": "instruction 1",
        "tensors": tensors,
    }
    fills = [
        rect.get("fill")
        for rect in ElementTree.fromstring(svg([arena])).iter(f"{SVG}rect")
        if rect.find(f"{SVG}title") is not None
    ]
    left, right, *of_whole = fills
    assert left != right
    assert of_whole == [right, "none"]


def test_banks_have_names(
    capsys: pytest.CaptureFixture[str], file: Callable[..., str], tmp_path: Path
) -> None:
    lines = run(
        capsys, "info", file(model()), "--plan", "--memory", "sram:id=1,size=64;dram:id=2"
    ).splitlines()
    assert "forward, arena 1 (sram): 48 bytes of 64 (75.0 %), at most 32 in use (66.7 %)" in lines
    assert any(line.startswith("forward, arena 2 (dram): ") for line in lines)
    assert main(["info", file(model()), "--plan", "--memory", "sram:id=0"]) == 2
    assert "--memory: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "path", [path for path in FIXTURES if path.stem != OTHER_DEVICES], ids=lambda path: path.stem
)
def test_every_file_can_be_drawn(path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert drawn(capsys, str(path), tmp_path).tag == f"{SVG}svg"
    for arena in json.loads(run(capsys, "info", str(path), "--plan", "--json"))["plan"]:
        assert arena["in_use"] <= arena["bound"] <= arena["nbytes"]
        assert arena["gap"] == arena["nbytes"] - arena["bound"]
        assert arena["optimal"] == (arena["gap"] == 0)


def test_svg_draws_the_plan(
    capsys: pytest.CaptureFixture[str], file: Callable[..., str], tmp_path: Path
) -> None:
    name = file(model())
    for options in (
        ["--svg", str(tmp_path / "p.svg")],
        ["--plan", "--svg", "-"],
        ["--plan", "--svg", "no/p.svg"],
    ):
        assert main(["info", name, *options]) == 2
        assert "--svg" in capsys.readouterr().err or "no/p.svg" in options
    assert list(tmp_path.glob("*.svg")) == []


def tensor(offset: int, nbytes: int, first: int, last: int) -> dict[str, int]:
    return {"offset": offset, "nbytes": nbytes, "first": first, "last": last}


def test_picture() -> None:
    tensors = [tensor(0, 2, -1, 0), tensor(0, 1, 1, 2), tensor(2, 2, 0, 3), {"offset": 0, "nbytes": 4}]
    arena = {"instructions": 3, "nbytes": 4, "tensors": tensors}
    rows = [line.rpartition(" ")[2] for line in picture(arena)]
    assert rows[:4] == [".cccc", ".cccc", "aa...", "aabb."]


def test_picture_of_many() -> None:
    # Two tensors take turns for a thousand instructions: the first 52 of the largest have letters.
    tensors = [tensor(64 * (at % 2), 64, at, at) for at in range(1000)]
    lines = list(picture({"instructions": 1000, "nbytes": 128, "tensors": tensors}))
    assert len(lines) == 18
    assert lines[-1].split() == ["+", "is", "948", "smaller", "tensors"]
    assert all(len(line) <= 80 for line in lines)


def test_nothing_to_draw() -> None:
    assert list(picture({"instructions": 0, "nbytes": 0, "tensors": []})) == []
