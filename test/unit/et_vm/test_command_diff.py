"""et-vm diff: significant and insignificant differences."""

import json

import numpy as np
import pytest
from support.vm_commands import add, run
from support.vm_programs import Build

from et_schema.program import CompileSpec, ContainerMetadata, Frame
from et_tools.exit_codes import ExitCode

DIFFERENT = ExitCode.CHECK_FAILED


def program(
    *, swap=False, offset=32, weight=1.0, blob=b"blob", mode=b"fast", size=4, line=3, more=False
) -> Build:
    build = Build()
    x, y = build.tensor(size), build.tensor(size)
    out = build.tensor(size, offset=offset)
    constant = build.constant(np.full(size, weight, np.float32), name="fc.weight")
    frame = Frame(filename="net.py", lineno=line, name="forward", context="x + w")
    build.add(x, constant, y, frames=[frame])
    if more:
        build.call("test::increment_", y, y)
    build.add(*((x, y) if swap else (y, x)), out)
    build.delegate("Acme", blob, x, out, specs=[CompileSpec("mode", mode)])
    build.inputs(x)
    build.outputs(out)
    return build


def diff(capsys, file, before: Build, after: Build, code: int = DIFFERENT) -> list[str]:
    return run(capsys, "diff", file(before, "a.pte"), file(after, "b.pte"), code=code).splitlines()


def test_the_same(capsys, file):
    assert diff(capsys, file, program(), program(), ExitCode.OK) == []


def test_numbering_is_no_difference(capsys, file):
    """The same program with its values in another order, and one value that nothing uses."""
    before, after = add(2), Build()
    after.scalar(7)
    one = after.scalar(1)
    out, y, x = after.tensor(2, offset=16), after.tensor(2, offset=8), after.tensor(2, offset=0)
    for register, other in ((0, x), (1, y), (2, out)):
        after[other].allocation_info = before[register].allocation_info
    after.plan.non_const_buffer_sizes = before.plan.non_const_buffer_sizes
    after.call("aten::add.out", x, y, one, out, out)
    after.inputs(x, y)
    after.outputs(out)
    assert diff(capsys, file, before, after, ExitCode.OK) == []


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (
            {"swap": True},
            [
                "forward, operands",
                "- 1: test::add.out(float32 [4], float32 [4]) -> float32 [4] on %1 %0 %2 %2",
                "+ 1: test::add.out(float32 [4], float32 [4]) -> float32 [4] on %0 %1 %2 %2",
            ],
        ),
        (
            {"offset": 16},
            [
                "forward, arenas",
                "- arena 1: 48 bytes",
                "+ arena 1: 32 bytes",
                "forward, memory",
                "- %2 float32 [4]: arena 1 at 32",
                "+ %2 float32 [4]: arena 1 at 16",
            ],
        ),
        (
            {"weight": 1.5},
            ["contents of weights", "+ float32 [4] fc.weight: 4 of 4 elements differ, by up to 0.5"],
        ),
        (
            {"more": True},
            [
                "forward, instructions",
                "+ 1: test::increment_(float32 [4]) -> float32 [4]",
            ],
        ),
        ({"line": 4}, ["forward, source lines", "- 0: net.py:3 in forward", "+ 0: net.py:4 in forward"]),
    ],
)
def test_one_difference(capsys, file, change, lines):
    assert diff(capsys, file, program(), program(**change)) == lines


def test_outputs_that_are_listed_once(capsys, file):
    """Calls list them twice: the instructions say the same, their operands do not."""

    def once(*outputs: int) -> Build:
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        build.call("aten::relu.out", x, out, *(out for _ in outputs))
        build.inputs(x)
        build.outputs(out)
        return build

    assert diff(capsys, file, once(), once(1)) == [
        "forward, operands",
        "- 0: aten::relu.out(float32 [2]) -> float32 [2] on %0 %1",
        "+ 0: aten::relu.out(float32 [2]) -> float32 [2] on %0 %1 %1",
    ]


def test_lists_that_instructions_assign_to(capsys, file):
    """What they hold at first, here one item or two, is no operand of what reads them."""

    def moved(*items: int) -> Build:
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        given, target = build.tensors(x, x), build.tensors(*(x for _ in items))
        build.move(given, target)
        build.call("aten::cat.out", target, build.scalar(0), out, out)
        build.inputs(x)
        build.outputs(out)
        return build

    assert diff(capsys, file, moved(1), moved(1, 2), ExitCode.OK) == []


def test_delegates(capsys, file):
    for change in ({"blob": b"blib"}, {"mode": b"slow"}):
        lines = diff(capsys, file, program(), program(**change))
        assert lines[0] == "forward, delegates"
        assert [line[:26] for line in lines[1:]] == [
            "- delegate 0: Acme 4 bytes",
            "+ delegate 0: Acme 4 bytes",
        ]


def test_inputs_and_types(capsys, file):
    lines = diff(capsys, file, program(), program(size=5))
    assert lines[:3] == ["forward, inputs", "- 0: float32 [4]", "+ 0: float32 [5]"]
    assert "- float32 [4] fc.weight" in lines


def test_methods(capsys, file):
    assert diff(capsys, file, add(2), add(2, name="other")) == ["methods", "- forward", "+ other"]


def test_nesting_of_inputs(capsys, file):
    other = add(2)
    other.plan.container_meta_type = ContainerMetadata("[1, {}]", "")
    assert diff(capsys, file, add(2), other) == ["forward, structure of inputs", "+ [1, {}]"]


def test_nameless_constants_are_told_apart_by_their_contents(capsys, file):
    def build(value: float) -> Build:
        made = Build()
        x = made.tensor(2)
        made.add(x, made.constant(np.full(2, value, np.float32)), x)
        made.inputs(x)
        return made

    lines = diff(capsys, file, build(1), build(2))
    assert lines[0] == "forward, instructions"
    assert len({line.split("#")[1] for line in lines[1:]}) == 2


def test_json_and_limits(capsys, file):
    many = program()
    for _ in range(50):
        many.add(0, 1, 2)
    paths = file(program(), "a.pte"), file(many, "b.pte")
    report = json.loads(run(capsys, "diff", "--json", *paths, code=DIFFERENT))
    assert report["same"] is False
    assert len(report["differences"]) == 50
    assert report["differences"][0]["before"] is None
    assert "  … 10 more (--all)" in run(capsys, "diff", *paths, code=DIFFERENT)
    assert len(run(capsys, "diff", "--all", *paths, code=DIFFERENT).splitlines()) == 51


def test_errors(capsys, file):
    good, bad = file(add(2)), file(b"x" * 100, "bad.pte")
    assert "bad.pte: " in run(capsys, "diff", good, bad, code=ExitCode.INVALID_INPUT)
    assert "'-' can be given only once" in run(capsys, "diff", "-", "-", code=ExitCode.USAGE)
    assert "FILE" in run(capsys, "diff", good, code=ExitCode.USAGE)
