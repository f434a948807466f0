"""`et-vm info --delegates` of graphs for XNNPACK."""

import numpy as np
import pytest
from support.vm_commands import run
from support.vm_programs import Build as Program
from support.xnnpack_graphs import Build, D

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.lines import xnnpack_lines
from et_schema.errors import InvalidFile


def graph() -> Build:
    build = Build()
    x, y = build.input(1, 8, 8, 2), build.value(1, 4, 4, 6)
    weight = build.constant(np.ones((6, 3, 3, 2), np.float32))
    build.node(
        schema.XNNConv2d(
            1,
            1,
            1,
            1,
            3,
            3,
            2,
            2,
            1,
            1,
            2,
            6,
            1,
            0,
            0,
            input1_id=x,
            filter_id=weight,
            bias_id=NO_VALUE,
            output_id=y,
        ),
        (0.0, 6.0),
    )
    build.node(schema.XNNStaticTranspose(4, [0, 3, 1, 2], y, build.output(1, 6, 4, 4)))
    return build


LINES = [
    "2 nodes: 1 Conv2d, 1 StaticTranspose",
    "4 values: 4 fp32; 1 input, 1 output",
    "1 constants: 432 bytes",
    "%1:1x4x4x6xfp32 = Conv2d(%0:1x8x8x2xfp32, @2:6x3x3x2xfp32) padding=1,1,1,1 kernel=3x3 subsampling=2x2 0..6",
    "%3:1x6x4x4xfp32 = StaticTranspose(%1:1x4x4x6xfp32) perm=[0, 3, 1, 2]",
]


def test_lines():
    assert xnnpack_lines(memoryview(graph().blob()), {}, {}) == LINES


def test_the_report(capsys, tmp_path):
    program = Program()
    x, y = program.tensor(1, 8, 8, 2), program.tensor(1, 6, 4, 4)
    program.delegate("XnnpackBackend", graph().blob(), x, y)
    program.inputs(x)
    program.outputs(y)
    path = tmp_path / "model.pte"
    path.write_bytes(program.file())
    text = run(capsys, "info", str(path), "--delegates")
    assert f"    {LINES[0]}" in text
    assert f"    {LINES[-1]}" in text


def test_a_blob_that_makes_no_sense():
    with pytest.raises(InvalidFile):
        xnnpack_lines(memoryview(b"XNNPACK"), {}, {})


def test_other_details():
    build = Build()
    x, y = build.input(1, 4), build.value(1, 4, datatype=D.fp16)
    build.node(schema.XNNConvert(x, y, 3))
    build.node(schema.XNNLeakyReLU(0.5, y, build.output(1, 4, datatype=D.fp16)))
    lines = xnnpack_lines(memoryview(build.blob()), {}, {})
    assert lines[1] == "3 values: 2 fp16, 1 fp32; 1 input, 1 output"
    assert lines[3:] == [
        "%1:1x4xfp16 = Convert(%0:1x4xfp32) flags=3",
        "%2:1x4xfp16 = LeakyReLU(%1:1x4xfp16) negative_slope=0.5",
    ]
