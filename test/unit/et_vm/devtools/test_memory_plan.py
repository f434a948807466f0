"""Drawings of memory plans in notebooks."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from support.vm_programs import Build

from et_schema.errors import ExecutorchError
from et_vm.devtools.certificate import certificates
from et_vm.devtools.memory_plan import HEAD, HEIGHT, WIDTH, MemoryPlan
from et_vm.program import Program

SVG = "{http://www.w3.org/2000/svg}"


def chain(*offsets: int, name: str = "forward") -> Program:
    build = Build(name)
    registers = [build.tensor(4, offset=offset) for offset in offsets]
    for one, other in pairwise(registers):
        build.add(one, one, other)
    build.inputs(registers[0])
    build.outputs(registers[-1])
    return Program.load(build.file())


def test_tensors_have_their_places_and_lifetimes() -> None:
    program = chain(0, 16, 0)
    (arena,) = MemoryPlan(program, "forward").arenas
    assert (arena.nbytes, arena.bound) == (32, certificates(program, "forward")[1].bound)
    assert [(one.offset, one.nbytes, one.first, one.last, one.writer) for one in arena.tensors] == [
        (0, 16, -1, 0, ""),
        (0, 16, 1, 2, "test::add.out"),
        (16, 16, 0, 1, "test::add.out"),
    ]


def test_drawings_have_a_rectangle_for_each_tensor() -> None:
    plan = MemoryPlan(chain(0, 16, 0, name="<b>"), "<b>")
    drawing = ElementTree.fromstring(plan._repr_svg_())
    boxes = [one for one in drawing.iter(f"{SVG}rect") if one.find(f"{SVG}title") is not None]
    places = [tuple(float(one.get(key)) for key in ("x", "y", "width", "height")) for one in boxes]
    column, half = WIDTH / 4, HEIGHT / 2
    assert places == [
        (0, HEAD + half, 2 * column, half),
        (2 * column, HEAD + half, 2 * column, half),
        (column, HEAD, 2 * column, half),
    ]
    assert drawing.find(f"{SVG}text").text == "<b>, arena 1: 32 bytes, optimal"
    assert repr(plan) == "MemoryPlan(<b>: arena 1 32 bytes)"


def test_unknown_methods() -> None:
    with pytest.raises(ExecutorchError, match="no method named 'nobody'"):
        MemoryPlan(chain(0, 16), "nobody")
