"""et-vm info: the summary and the sections."""

import json
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.vm_commands import add, run
from support.vm_programs import BOUND, Build

from et_ir.targets.lookup import DEFAULT
from et_schema.backend_packages import BackendPackage, Packages
from et_schema.program import CompileSpec, Frame, SubsegmentOffsets
from et_schema.pte import serialize_pte


def model() -> Build:
    build = add(2, 3)
    weight = build.constant(np.ones((2, 3), np.float32), name="linear.weight")
    build.constant(np.ones(2, np.int64))
    build.state(np.zeros(4, np.float32), name="cache", memory_id=2)
    x, _, out, one = 0, 1, 2, 3
    build.call("aten::add.out", x, weight, one, out, out)
    build.call("acme::scale.out", out, out, out)
    build.jump_false(build.scalar(True), 3)
    build.delegate("Acme", b"", x, out)
    build.inputs(*build.plan.inputs, build.scalar(2.5))
    return build


class TestSummary:
    def test_text(self, capsys, file):
        text = run(capsys, "info", file(model()))
        for part in (
            "ET12",
            "extended header",
            " bytes  constants",
            "method forward: 5 instructions",
            "input 0   float32 [2, 3]",
            "input 2   Double 2.5",
            "output 0",
            "buffer 0   float32 [4] cache",
            "arena 2 ",
            "delegate Acme: 1 subgraph",
            "     2  aten::add.out",
            "     1  acme::scale.out  no portable kernel",
            "     1  jump_false",
            "2 weights: 40 bytes",
            "24  float32 [2, 3] linear.weight",
        ):
            assert part in text, part

    def test_json(self, capsys, file):
        facts = json.loads(run(capsys, "info", file(model()), "--json"))
        (method,) = facts["methods"]
        assert method["operators"] == [
            {"name": "aten::add.out", "calls": 2, "kernel": True},
            {"name": "acme::scale.out", "calls": 1, "kernel": False},
        ]
        assert method["arenas"] == {"1": 96, "2": 16}
        assert method["inputs"][2] == {"type": "Double", "value": 2.5}
        assert facts["weights"] == [
            {
                "dtype": "float32",
                "shape": [2, 3],
                "nbytes": 24,
                "name": "linear.weight",
                "external": False,
                "uses": 1,
            },
            {"dtype": "int64", "shape": [2], "nbytes": 16, "external": False, "uses": 1},
        ]
        assert facts["header"]["length"] == 32

    def test_many_weights(self, capsys, file):
        build = add(2)
        for size in range(1, 15):
            build.constant(np.ones(size, np.float32))
        assert "40  in 4 more" in run(capsys, "info", file(build))

    def test_layouts_and_dynamic_shapes(self, capsys, file):
        build = Build()
        x = build.tensor(1, 2, 3, 4, dim_order=(0, 2, 3, 1), dynamism=BOUND)
        y = build.tensor(2, planned=False)
        build.inputs(x, y)
        text = run(capsys, "info", file(build))
        assert "float32 [1, 2, 3, 4] dim order [0, 2, 3, 1] at most" in text
        assert "float32 [2] unplanned" in text

    def test_without_constants(self, capsys, file):
        """The place for constants refers to a segment that is not there."""
        program = add(2).program()
        program.constant_segment = SubsegmentOffsets(0, [0])
        program.mutable_data_segments = []
        assert "0 weights: 0 bytes" in run(capsys, "info", file(serialize_pte(program)))

    def test_without_segments(self, capsys, file):
        build = add(2)
        program = build.program()
        program.constant_segment = None
        program.mutable_data_segments = []
        assert "no extended header" in run(capsys, "info", file(serialize_pte(program)))


class TestSections:
    def test_size_adds_up(self, capsys, file):
        path = file(model())
        facts = json.loads(run(capsys, "info", path, "--size", "--json"))
        assert sum(part["nbytes"] for part in facts["size"]["parts"]) == Path(path).stat().st_size
        assert facts["size"]["operators"] == [{"name": "aten::add.out", "nbytes": 24}]
        assert "methods" not in facts
        text = run(capsys, "info", path, "--size")
        assert "segment 0: constants" in text
        assert "method forward" not in text

    def test_weights_with_the_same_contents(self, capsys, file):
        build = add(2)
        for name in ("head.weight", "embedding.weight"):
            build.constant(np.ones(4, np.float32), name=name)
        build.constant(np.zeros(4, np.float32), name="other")
        shared = build.constant(np.arange(8, dtype=np.float32), name="first")
        build.tensor(8, planned=False, data=build[shared].data_buffer_idx, name="second")
        text = run(capsys, "info", file(build), "--size")
        assert "4 weights: 80 bytes" in text
        assert "float32 [8] first = second" in text
        assert "16  of them stored again with the same contents:" in text
        assert "16  embedding.weight is head.weight" in text
        weights = json.loads(run(capsys, "info", file(build), "--json"))["weights"]
        assert [weight.get("same_as") for weight in weights] == [None, None, 1, None]

    def test_operators_and_who_has_them(self, capsys, file):
        build = model()
        build.call("aten::sort.values", 0, 1, 2, 3)
        facts = json.loads(run(capsys, "info", file(build), "--ops", "--json"))["ops"]
        assert [(operator["name"], operator["calls"]) for operator in facts["operators"]] == [
            ("aten::add.out", 2),
            ("acme::scale.out", 1),
            ("aten::sort.values", 1),
        ]
        add_, scale, sort = (operator["targets"] for operator in facts["operators"])
        assert add_ == facts["targets"]
        assert scale == []
        assert "et-vm" in sort
        assert DEFAULT not in sort
        assert facts["backends"] == {"Acme": 1}
        lines = [line.strip() for line in run(capsys, "info", file(build), "--ops").splitlines()]
        at = lines.index("2  aten::add.out")
        assert lines[at + 1 : at + 4] == ["1  acme::scale.out", "none of them", "1  aten::sort.values"]
        assert lines[at + 4].startswith(f"not {DEFAULT}")

    def test_plan(self, capsys, file):
        build = Build()
        x, y, out = build.tensor(4), build.tensor(4), build.tensor(4, offset=0)
        cache = build.state(np.zeros(2, np.float32), name="cache", memory_id=2)
        build.tensor(4)
        build.add(x, x, y)
        build.add(y, y, out)
        build.call("test::increment_", cache, cache)
        build.inputs(x)
        build.outputs(out)
        one, two = json.loads(run(capsys, "info", file(build), "--plan", "--json"))["plan"]
        spans = {tensor["register"]: (tensor.get("first"), tensor.get("last")) for tensor in one["tensors"]}
        assert spans == {0: (-1, 0), 1: (0, 1), 2: (1, 3), 4: (None, None)}
        assert (one["nbytes"], one["in_use"]) == (48, 32)
        assert (two["arena"], two["in_use"]) == (2, 8)
        assert (two["tensors"][0]["first"], two["tensors"][0]["last"]) == (-1, 3)
        lines = run(capsys, "info", file(build), "--plan").splitlines()
        assert "forward, arena 1: 48 bytes, at most 32 in use (66.7 %)" in lines
        assert (
            "  32 bytes are needed at instruction 0 (test::add.out), with tensors at multiples of 16, "
            "16 fewer than the arena has: whether a smaller plan exists takes a search (et-plan)"
        ) in lines
        assert "forward, arena 2: 16 bytes, at most 8 in use (50.0 %)" in lines
        need = "16 bytes are needed at instruction 0 (test::add.out), with tensors at multiples of 16"
        assert f"  optimal: {need}" in lines
        assert "              0            16  start     0  a %0 float32 [4]  input" in lines
        assert "              0            16      1   end  b %2 float32 [4]  test::add.out" in lines
        assert "             32            16      -     -    %4 float32 [4]" in lines

    def test_values(self, capsys, file):
        build = add(2)
        build.ints(3, 4)
        build.doubles(0.5)
        build.tensors(0, 1)
        build.scalar("bilinear")
        build.scalar(None)
        build.external("far.weight", 2)
        weight = build.constant(np.ones(2, np.float32), name="near.weight")
        build.move(weight, build.tensor(2, planned=False))
        lines = [line.strip() for line in run(capsys, "info", file(build), "--values").splitlines()]
        for line in (
            "%0     float32 [2], arena 1 at 0, input 0",
            "%2     float32 [2], arena 1 at 32, output 0",
            "%3     Int 1",
            "%6     IntList [%4, %5]",
            "%7     DoubleList [0.5]",
            "%8     TensorList [%0, %1]",
            "%9     String 'bilinear'",
            "%10    Null",
            "%11    float32 [2] far.weight, in a data file",
            "%12    float32 [2] near.weight, constant 1",
            "%13    float32 [2], assigned",
        ):
            assert line in lines, line

    def test_instructions(self, capsys, file):
        build = Build()
        x, out = build.tensor(4), build.tensor(4)
        a, b = build.tensor(2), build.tensor(2)
        frame = Frame(filename="net.py", lineno=7, name="forward", context="  y = x + x  ")
        pair = build.tensors(a, b)
        build.call("test::sum.out", x, build.ints(0, 1), build.scalar(None), out, out, frames=[frame])
        build.call("test::split.out", x, a, b, pair, frames=[frame])
        build.jump_false(build.scalar(True), 4)
        build.free(build.tensor(2, planned=False))
        build.delegate("Acme", b"blob", x, out)
        build.move(x, build.tensor(4, planned=False))
        build.inputs(x)
        text = run(capsys, "info", file(build), "--instructions")
        assert text.splitlines()[-8:] == [
            "instructions of forward",
            "        net.py:7 in forward: y = x + x",
            "      0  test::sum.out(%0, [0, 1], None) -> %1",
            "      1  test::split.out(%0) -> %2, %3",
            "      2  unless %9 go to 4",
            "      3  free %10",
            "      4  delegate 0: Acme(%0, %1)",
            "      5  %11 = %0",
        ]
        (method,) = json.loads(run(capsys, "info", file(build), "--instructions", "--json"))["instructions"]
        assert method["instructions"][0]["frames"] == [
            {"file": "net.py", "line": 7, "name": "forward", "text": "  y = x + x  "}
        ]
        assert method["instructions"][2]["target"] == 4

    def test_several_sections_in_one_report(self, capsys, file):
        text = run(capsys, "info", file(model()), "--values", "--plan")
        assert text.index("arena 1:") < text.index("values of forward")


class TestDelegates:
    def build(self) -> Build:
        build = add(2)
        specs = [CompileSpec("mode", b"fast\0"), CompileSpec("table", b"\xff\x00\x01")]
        build.delegate("Acme", b"four", 0, 2, specs=specs)
        return build

    def test_facts(self, capsys, file):
        text = run(capsys, "info", file(self.build()), "--delegates")
        assert "1 delegate: 4 bytes" in text
        assert "forward, delegate 0: Acme, 1 call, 4 bytes in inline data 0" in text
        assert "mode = fast (5 bytes)" in text
        assert "table = ff 00 01 (3 bytes)" in text
        (facts,) = json.loads(run(capsys, "info", file(self.build()), "--json"))["delegates"]
        assert facts["sha256"] == sha256(b"four").hexdigest()

    @pytest.mark.parametrize(
        ("decode", "line"),
        [
            (
                lambda blob, specs, named: [f"{len(blob)} bytes, {specs['mode'].decode()}"],
                "    4 bytes, fast",
            ),
            (lambda blob, specs, named: blob.no_such, "    AttributeError: "),
        ],
    )
    def test_decoder(self, capsys, file, monkeypatch, decode, line):
        """A decoder is found by the backend's id; one that fails does not take the report down."""
        monkeypatch.setitem(sys.modules, "acme", SimpleNamespace(decode=decode))
        packages = Packages({"acme": BackendPackage("Acme", decoder="acme:decode")}, {})
        monkeypatch.setattr("et_schema.backend_packages.backend_packages", lambda: packages)
        assert line in run(capsys, "info", file(self.build()), "--delegates").replace("\0", "")
