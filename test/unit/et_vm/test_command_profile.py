"""et-vm profile: table, groups, traces and its errors."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.vm_commands import run
from support.vm_programs import Build

from et_schema.program import Frame
from et_schema.scalar_type import ScalarType
from et_tools import vm_profile
from et_tools.exit_codes import ExitCode
from et_vm import Program
from et_vm.devtools.debug_map import Place
from et_vm.devtools.profiling import (
    Profile,
    ProfileRecorder,
    Times,
    chrome_trace,
    flamegraph_lines,
    group_rows,
)
from et_vm.tracer import DelegateEvent, InstructionEvent

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Peaks are kept in a folder of the tests, all of them in the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def net() -> Build:
    build = Build()
    x, w, y, z = build.tensor(2, 3), build.tensor(3, 4), build.tensor(2, 4), build.tensor(2, 4)
    frames = [[Frame("net.py", 3, "outer", ""), Frame("net.py", line, "forward", "")] for line in (10, 11)]
    build.call("aten::mm.out", x, w, y, y, frames=frames[0])
    build.call("aten::relu.out", y, z, z, frames=frames[1])
    build.inputs(x, w)
    build.outputs(z)
    return build


def spans(path: Path, category: str) -> list[dict[str, Any]]:
    events = json.loads(path.read_text())["traceEvents"]
    return [event for event in events if event["ph"] == "X" and event["cat"] == category]


class TestTable:
    def test_state_that_keeps_requests_apart(self, capsys, file):
        build = net()
        text = run(capsys, "profile", file(build), "--repeat", "1", "--no-peak")
        assert "requests" not in text
        build.tensor(1, name="total")
        text = run(capsys, "profile", file(build), "--repeat", "1", "--no-peak")
        assert "requests   one at a time because of state (total)\n" in text
        report = json.loads(run(capsys, "profile", file(build), "--repeat", "1", "--no-peak", "--json"))
        assert report["kept_state"] == ["state (total)"]

    def test_work_and_span(self, capsys, file):
        report = json.loads(run(capsys, "profile", file(net()), "--repeat", "3", "--no-peak", "--json"))
        medians = {row["instruction"]: row["median_ns"] for row in report["rows"]}
        overlap = report["parallelism"]
        assert overlap["work_ns"] == pytest.approx(sum(medians.values()))
        assert overlap["critical_path"][:2] == [0, 1]
        assert overlap["span_ns"] == pytest.approx(sum(medians[at] for at in overlap["critical_path"]))

    def test_rows(self, capsys, file):
        text = run(capsys, "profile", file(net()), "--repeat", "3", "--wide")
        assert text.startswith("forward: 3 executions, portable kernels\n")
        assert "0: aten::mm.out  net.py:10" in text
        assert "1: aten::relu.out  net.py:11" in text
        assert "load ms    registers " in text

    def test_json(self, capsys, file):
        report = json.loads(run(capsys, "profile", file(net()), "--json", "--repeat", "4", "--warmup", "0"))
        mm, relu = report["rows"]
        assert (mm["instruction"], mm["calls"], mm["flops"]) == (0, 4, 2 * 2 * 3 * 4)
        assert (mm["bytes_read"], mm["bytes_written"]) == (4 * (6 + 12), 4 * 8)
        assert (relu["flops"], relu["bytes_read"], relu["bytes_written"]) == (8, 32, 32)
        assert mm["line"] == "net.py:10"

    def test_rates_are_set_against_the_peak(self, capsys, file):
        report = json.loads(run(capsys, "profile", file(net()), "--json", "--repeat", "4"))
        peak = report["peak"]
        for row in report["rows"]:
            nbytes = row["bytes_read"] + row["bytes_written"]
            most = max(row["bytes_read"], row["bytes_written"])
            bandwidth = next(one["gbps"] for one in peak["bandwidths"] if one["bytes"] >= most)
            assert row["gflops"] == row["flops"] / row["min_ns"]
            assert row["gbps"] == nbytes / row["min_ns"]
            least = max(row["flops"] / peak["gflops"], nbytes / bandwidth)
            assert row["roofline"] == pytest.approx(least / row["min_ns"])
            assert 0 < row["roofline"] < 1
        assert report["planned_bytes"] == sum(
            size for label, size in report["memory"].items() if label.startswith("arena")
        )
        assert report["peak_resident_bytes"] > report["planned_bytes"]
        text = run(capsys, "profile", file(net()))
        assert f"peak       {peak['gflops']:.1f} GFLOP/s ({peak['how']})" in text

    def test_parts_of_tensors_are_read(self, capsys, file):
        build = Build()
        x, y = build.tensor(64, 4), build.tensor(2, 4)
        build.call("aten::slice_copy.Tensor_out", x, *(build.scalar(one) for one in (0, 3, 5, 1)), y, y)
        build.inputs(x)
        build.outputs(y)
        [row] = json.loads(run(capsys, "profile", file(build), "--json", "--no-peak"))["rows"]
        assert (row["bytes_read"], row["bytes_written"]) == (32, 32)

    @pytest.mark.parametrize("transposed", [False, True])
    @pytest.mark.parametrize("bias", [False, True])
    def test_operations_of_convolutions(self, capsys, file, transposed, bias):
        build = Build()
        sizes = (1, 6, 7, 7) if transposed else (1, 6, 5, 5)
        x, w, y = (
            build.tensor(1, 4, 6, 6),
            build.tensor(*((4, 6) if transposed else (6, 4)), 2, 2),
            build.tensor(*sizes),
        )
        b = build.tensor(6) if bias else build.scalar(None)
        ones, zeros = build.ints(1, 1), build.ints(0, 0)
        arguments = [x, w, b, ones, zeros, ones, build.scalar(transposed), zeros, build.scalar(1)]
        build.call("aten::convolution.out", *arguments, y, y)
        build.inputs(x, w, *([b] if bias else []))
        build.outputs(y)
        [row] = json.loads(run(capsys, "profile", file(build), "--json", "--no-peak"))["rows"]
        count = math.prod(sizes)
        products = 4 * 6 * 6 * (6 * 2 * 2) if transposed else count * 4 * 2 * 2
        assert row["flops"] == 2 * products + (count if bias else 0)

    @pytest.mark.parametrize("places", [False, True])
    def test_caches_move_the_new_elements(self, capsys, file, places):
        build = Build()
        values, cache, start = build.tensor(1, 1, 2, 4), build.tensor(1, 8, 2, 4), build.scalar(3)
        indices = build.tensor(1, 1, dtype=ScalarType.LONG)
        out = build.tensor(1)
        name = "llama::update_cache_with_indices.out" if places else "llama::update_cache.out"
        build.call(name, values, cache, start, *([indices] if places else []), out, out)
        build.inputs(values, cache, *([indices] if places else []))
        build.outputs(cache)
        [row] = json.loads(run(capsys, "profile", file(build), "--json", "--no-peak", "--input", "ones"))[
            "rows"
        ]
        assert (row["bytes_read"], row["bytes_written"]) == (32 + (8 if places else 0), 32)

    def test_updates_in_place_move_the_new_elements(self, capsys, file):
        build = Build()
        cache, places, values = (
            build.tensor(64, 4),
            build.tensor(2, dtype=ScalarType.LONG),
            build.tensor(2, 4),
        )
        build.call(
            "aten::index_put_",
            cache,
            build.tensors(places, optional=True),
            values,
            build.scalar(False),
            cache,
        )
        build.inputs(cache, places, values)
        build.outputs(cache)
        rows = json.loads(run(capsys, "profile", file(build), "--json", "--no-peak", "--input", "ones"))[
            "rows"
        ]
        assert [(row["bytes_read"], row["bytes_written"]) for row in rows] == [(2 * 8 + 32, 32)]

    def test_without_the_peak(self, capsys, file):
        report = json.loads(run(capsys, "profile", file(net()), "--json", "--no-peak"))
        assert report["peak"] is None
        assert [row["roofline"] for row in report["rows"]] == [None, None]
        assert all(row["gflops"] > 0 for row in report["rows"])
        assert "\npeak " not in run(capsys, "profile", file(net()), "--no-peak")

    def test_overhead(self, capsys, file):
        """What tracing costs is said; how much it is depends on the machine."""
        report = json.loads(run(capsys, "profile", file(net()), "--json", "--no-peak", "--overhead"))
        assert 0 < report["untraced_ns"]["min"] <= report["untraced_ns"]["median"]
        assert 0 < report["instructions_ns"]["median"] <= report["total_ns"]["p90"]
        line = run(capsys, "profile", file(net()), "--no-peak", "--overhead").splitlines()[2]
        assert line.startswith("untraced   median ")
        assert "tracing adds" in line

    def test_groups(self, capsys, file, tmp_path):
        path = tmp_path / "map.json"
        path.write_text(json.dumps({"forward": [{"instruction": 0, "module": "head.fc"}]}))
        for by, names in {
            "operator": {"aten::mm.out", "aten::relu.out"},
            "line": {"net.py:10", "net.py:11"},
            "module": {"head.fc", "(unknown)"},
        }.items():
            arguments = ("--by", by, "--debug-map", str(path), "--json", "--repeat", "2")
            report = json.loads(run(capsys, "profile", file(net()), *arguments))
            assert {row["name"] for row in report["rows"]} == names

    def test_errors(self, capsys, file, tmp_path):
        missing = str(tmp_path / "missing" / "out.json")
        assert "out.json" in run(capsys, "profile", file(net()), "--trace", missing, code=ExitCode.USAGE)
        text = run(capsys, "profile", file(net()), "--input", "x.txt", code=ExitCode.USAGE)
        assert "not recognized" in text


class TestTrace:
    def test_nested_and_in_order(self, capsys, file, tmp_path):
        path = tmp_path / "trace.json"
        run(capsys, "profile", file(net()), "--trace", str(path), "--repeat", "3")
        methods, instructions = spans(path, "method"), spans(path, "instruction")
        assert (len(methods), len(instructions)) == (3, 6)
        # Times are of nanoseconds in microseconds, so sums of two are off by less than one.
        for number, outer in enumerate(methods):
            inner = instructions[2 * number : 2 * number + 2]
            assert outer["ts"] <= inner[0]["ts"]
            assert inner[-1]["ts"] + inner[-1]["dur"] <= outer["ts"] + outer["dur"] + 1e-3
            assert sum(event["dur"] for event in inner) <= outer["dur"] + 1e-3
        for before, after in pairwise(instructions):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-3
        counters = [one for one in json.loads(path.read_text())["traceEvents"] if one["ph"] == "C"]
        assert len(counters) == 6
        assert max(one["args"]["bytes"] for one in counters) > 0

    def test_modules_and_their_instructions(self, capsys, file, tmp_path):
        """A module is a span on a track of its own, with an arrow to each of its instructions."""
        path, modules = tmp_path / "trace.json", tmp_path / "map.json"
        modules.write_text(json.dumps({"forward": [{"instruction": 0, "module": "head.fc"}]}))
        run(
            capsys, "profile", file(net()), "--debug-map", str(modules), "--trace", str(path), "--repeat", "2"
        )
        events = json.loads(path.read_text())["traceEvents"]
        begins, ends = ([one for one in events if one["ph"] == phase] for phase in "sf")
        products = [one for one in spans(path, "instruction") if one["name"] == "aten::mm.out"]
        assert [one["name"] for one in spans(path, "module")] == ["head.fc"] * 2
        assert [one["ts"] for one in ends] == [one["ts"] for one in products]
        assert [one["id"] for one in begins] == [one["id"] for one in ends]
        assert {one["tid"] for one in begins} != {one["tid"] for one in ends}

    def test_folded(self, capsys, file, tmp_path):
        path = tmp_path / "out.folded"
        run(capsys, "profile", file(net()), "--flamegraph", str(path))
        stacks = [line.rsplit(" ", 1) for line in path.read_text().splitlines()]
        assert {stack for stack, _ in stacks} == {"forward;aten::mm.out", "forward;aten::relu.out"}
        assert all(int(time) > 0 for _, time in stacks)

    def test_flame_graph(self, capsys, file, tmp_path):
        path, modules = tmp_path / "out.svg", tmp_path / "map.json"
        modules.write_text(json.dumps({"forward": [{"instruction": 0, "module": "<b>.fc"}]}))
        run(capsys, "profile", file(net()), "--debug-map", str(modules), "--flamegraph", str(path))
        drawing = ElementTree.parse(path).getroot()
        boxes = {}
        for group in drawing.iter(f"{SVG}g"):
            box = group.find(f"{SVG}rect")
            name = group.find(f"{SVG}title").text.partition("\n")[0]
            boxes[name] = {key: float(box.get(key)) for key in ("x", "y", "width")}
        assert set(boxes) == {"forward", "<b>", "fc", "aten::mm.out", "aten::relu.out"}
        for inner, outer in (
            ("<b>", "forward"),
            ("fc", "<b>"),
            ("aten::mm.out", "fc"),
            ("aten::relu.out", "forward"),
        ):
            assert boxes[inner]["y"] == boxes[outer]["y"] - 20
            assert boxes[inner]["x"] >= boxes[outer]["x"]
            assert (
                boxes[inner]["x"] + boxes[inner]["width"] <= boxes[outer]["x"] + boxes[outer]["width"] + 0.02
            )
        assert boxes["<b>"]["width"] + boxes["aten::relu.out"]["width"] == pytest.approx(1180, abs=0.1)


class TestStatistics:
    def test_times(self):
        assert Times.of([5]) == Times(5, 5, 5)
        assert Times.of(list(range(11))) == Times(0, 5, 9)

    def test_events_of_backends_are_nested(self, file):
        recorder = ProfileRecorder()
        method = Program.load(file(net())).load_method("forward", tracer=recorder)
        for start in (0, 1000):
            recorder.instructions.append(InstructionEvent(0, "call", "aten::mm.out", start, start + 100))
            recorder.delegates.append(DelegateEvent(0, 7, "GEMM", start + 10, start + 70))
            recorder.on_execute("forward", start, start + 120)
        profile = Profile(method, recorder.runs, {0: Place("a.b")})
        (row,) = profile.rows
        assert (row.times.median, profile.total.median, row.calls) == (100, 120, 2)
        assert [(event.label, event.times.median) for event in row.nested] == [("GEMM", 60)]
        assert flamegraph_lines(profile, "forward") == [
            "forward;a;b;aten::mm.out;GEMM 60",
            "forward;a;b;aten::mm.out 40",
        ]

    @pytest.mark.parametrize(("times", "text"), [(1, "    GEMM"), (2, "    GEMM ×2"), (3, "    GEMM ×3")])
    def test_calls_of_an_event_are_shown_by_call_of_the_backend(self, file, times, text):
        recorder = ProfileRecorder()
        method = Program.load(file(net())).load_method("forward", tracer=recorder)
        for start in (0, 1000):
            recorder.instructions.append(InstructionEvent(0, "call", "aten::mm.out", start, start + 100))
            recorder.delegates += [DelegateEvent(0, 7, "GEMM", start, start + 10)] * times
            recorder.on_execute("forward", start, start + 120)
        profile = Profile(method, recorder.runs, {})
        _, _, nested = vm_profile._table(profile, None)
        assert nested[-1] == text

    def test_places_within_delegates(self, file):
        """Times of parts count where these come from, and the rest of the call for the backend."""
        recorder = ProfileRecorder()
        method = Program.load(file(net())).load_method("forward", tracer=recorder)
        for start in (0, 1000):
            recorder.instructions.append(InstructionEvent(0, "call", "aten::mm.out", start, start + 100))
            for identifier, name, first, last in (
                (7, "GEMM", 10, 40),
                ("b", "ReLU", 40, 60),
                (9, "move", 60, 65),
            ):
                recorder.delegates.append(DelegateEvent(0, identifier, name, start + first, start + last))
            recorder.instructions.append(
                InstructionEvent(1, "call", "aten::relu.out", start + 100, start + 110)
            )
            recorder.on_execute("forward", start, start + 120)
        parts = {"7": Place("a.b", "net.py:3"), "b": Place("a", "net.py:4")}
        # The call itself has the place of one of its parts.
        profile = Profile(method, recorder.runs, {0: Place("a.b", "net.py:3", parts), 1: Place("c")})
        gemm, relu, move = profile.rows[0].nested
        assert [(one.module, one.line) for one in (gemm, relu, move)] == [
            ("a.b", "net.py:3"), ("a", "net.py:4"), ("", ""),
        ]  # fmt: skip
        for by, sums in {
            "operator": {"aten::mm.out": 45, "GEMM": 30, "ReLU": 20, "aten::relu.out": 10, "move": 5},
            "module": {"(aten::mm.out)": 50, "a.b": 30, "a": 20, "c": 10},
            "line": {"(aten::mm.out)": 50, "net.py:3": 30, "net.py:4": 20, "net.py:11": 10},
        }.items():
            assert {row.label: row.times.median for row in group_rows(profile.rows, by)} == sums
        assert set(flamegraph_lines(profile, "forward")) == {
            "forward;a;b;aten::mm.out;GEMM 30",
            "forward;a;aten::mm.out;ReLU 20",
            "forward;aten::mm.out;move 5",
            "forward;aten::mm.out 45",
            "forward;c;aten::relu.out 10",
        }
        events = chrome_trace(profile, "forward")["traceEvents"]
        modules = [
            (one["name"], one["ts"]) for one in events if one.get("cat") == "module" and one["ph"] == "X"
        ]
        assert modules == [
            (name, start + at) for start in (0, 1) for name, at in (("a.b", 0.01), ("a", 0.04), ("c", 0.1))
        ]
        arrows = [one["ts"] for one in events if one["ph"] == "f"]
        assert arrows == [at for _, at in modules]
        gemms = [one["args"] for one in events if one["name"] == "GEMM"]
        assert gemms == [{"identifier": "7", "module": "a.b", "line": "net.py:3"}] * 2

    def test_tables_in_notebooks(self, file):
        recorder = ProfileRecorder()
        method = Program.load(file(net())).load_method("forward", tracer=recorder)
        recorder.instructions.append(InstructionEvent(0, "call", "aten::mm.out", 0, 100))
        recorder.on_execute("forward", 0, 200)
        shown = Profile(method, recorder.runs, {0: Place("<script>")})._repr_html_()
        assert "<td>0.1</td><td>50.0%</td><td>0.48</td><td>1.04</td><td>0: aten::mm.out</td>" in shown
        assert "<td>&lt;script&gt;</td>" in shown

    def test_needs_an_execution(self, file):
        method = Program.load(file(net())).load_method("forward")
        with pytest.raises(ValueError, match="at least one execution"):
            Profile(method, [])
