"""`et-vm compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import WRONG, Command

from et_schema.diagnostics import Location
from et_tools.comparison.matching import match_values
from et_tools.comparison.recording import InstructionSource, ObservedValue, recorded_values
from et_vm.devtools.events import Event, PerfData

NETS = """
import torch
from torch import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.fc = nn.Linear(4 * 6 * 5, 7)

    def forward(self, x):
        y = torch.relu(self.conv(x))
        z = torch.sigmoid(y) * y
        return self.fc(z.flatten(1))


def layers():
    torch.manual_seed(0)
    return Layers(), (torch.randn(1, 3, 6, 5),)


class Loop(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        _, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, torch.sin(a) + a), (torch.tensor(0), x))
        return y


def loop():
    return Loop(), (torch.randn(4),)


class Makes(nn.Module):
    def forward(self, x):
        y = x - 1
        z = torch.log(y - 1)
        return z + y


def makes():
    return Makes(), (torch.zeros(3),)
"""


@pytest.fixture(autouse=True)
def nets(workplace: Path) -> None:
    (workplace / "nets.py").write_text(NETS)
    (workplace / "wrong.py").write_text(WRONG)


def compared(command: Command, *line: str, code: int = 0) -> dict[str, Any]:
    ran = command("et-vm", "compare", *line, "--json")
    # What differs is said on standard output.
    assert ran.code == code, ran.err
    return json.loads(ran.out)


KEPT = ("--backend", "native:values=1", "--target", "et-vm")
"""Machine code that keeps what its kernels compute."""


@pytest.mark.parametrize("net", ["layers", "loop"])
@pytest.mark.parametrize(
    "backend", [(), ("--backend", "xnnpack"), ("--backend", "native", "--target", "et-vm"), KEPT]
)
def test_the_module(command: Command, net: str, backend: tuple[str, ...]) -> None:
    line = ("et-compile", f"nets.py:{net}", "-q", "-o", "net.pte", "--debug-map", "map.json", *backend)
    assert command(*line).code == 0
    report = compared(command, "net.pte", f"nets.py:{net}", "--debug-map", "map.json", "--native")
    assert report["matched_by"] == "node"
    assert report["values"]
    assert report["first"] is None
    nodes = {value["node"] for value in report["values"]}
    if net == "layers" and backend is KEPT:
        assert nodes == {"mul", "linear"}  # what is computed with the convolution stays in registers
    elif net == "layers" and "native" not in backend:
        assert {"conv2d", "mul", "linear"} <= nodes or {"relu", "mul", "linear"} <= nodes


DOUBLED = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = edge.mul.Scalar %x {{other = {factor}}} : tensor<4xf32>
  %1 = edge.neg %0 : tensor<4xf32>
  func.return {result} : tensor<4xf32>
}}
"""


def test_values_that_cannot_be_matched(command: Command) -> None:
    """Where results agree, values that differ are others; where they do not, the difference is said with its doubt."""
    Path("ours.mlir").write_text(DOUBLED.format(factor=-2, result="%1"))
    assert command("et-compile", "-q", "ours.mlir", "-o", "ours.pte").code == 0
    for result, code in (("%0", 0), ("%1", 1)):
        Path("other.mlir").write_text(DOUBLED.format(factor=2, result=result))
        assert command("et-compile", "-q", "other.mlir", "-o", "other.pte", "-O0").code == 0
        ran = command("et-vm", "compare", "ours.pte", "other.pte")
        assert ran.code == code
        assert ("cannot be matched for sure by order: give --debug-map FILE" in ran.out) is not bool(code)
        assert ("first difference, if values matched by order are the same: " in ran.out) is bool(code)
        assert ("to match values for sure: give --debug-map FILE" in ran.out) is bool(code)
        report = compared(command, "ours.pte", "other.pte", code=code)
        assert (report["first"] is None) is not bool(code)


@pytest.mark.parametrize("options", [(), ("--backend", "xnnpack")])
def test_files_without_a_map_that_their_module_compiles_to(
    command: Command, options: tuple[str, ...]
) -> None:
    line = ("et-compile", "nets.py:layers", "-q", "-o", "net.pte", *options)
    assert command(*line).code == 0
    report = compared(command, "net.pte", "nets.py:layers")
    assert report["matched_by"] == "node"
    assert {"mul", "linear"} <= {value["node"] for value in report["values"]}
    assert report["first"] is None
    ran = command("et-vm", "compare", "net.pte", "nets.py:layers")
    assert "debug map: of nets.py:layers, which et-compile compiles to the same file" in ran.out
    assert "cannot be matched" not in ran.out


def test_files_that_their_module_does_not_compile_to(command: Command) -> None:
    """With other options the map would be of another program: values are matched by order, or not at all."""
    assert command("et-compile", "nets.py:layers", "-q", "-o", "net.pte", "-O0").code == 0
    assert compared(command, "net.pte", "nets.py:layers")["matched_by"] == "order"
    ran = command("et-vm", "compare", "net.pte", "nets.py:layers")
    assert "debug map" not in ran.out
    assert "first difference" not in ran.out


def test_values_of_each_turn(command: Command) -> None:
    line = ("et-compile", "nets.py:loop", "-q", "-o", "net.pte", "--debug-map", "map.json")
    assert command(*line).code == 0
    report = compared(command, "net.pte", "nets.py:loop", "--debug-map", "map.json")
    sines = [value for value in report["values"] if value["operator"] == "aten::sin.out"]
    assert len(sines) == 3


@pytest.mark.parametrize("sources", [("--debug-map", "map.json"), ()])
def test_the_first_difference(command: Command, sources: tuple[str, ...]) -> None:
    line = (
        "et-compile",
        "nets.py:layers",
        "-q",
        "-o",
        "net.pte",
        "--debug-map",
        "map.json",
        "--emit-stacktrace",
    )
    assert command(*line, "--load", "wrong.py", "--pass", "edge:drop").code == 0
    ran = command("et-vm", "compare", "net.pte", "nets.py:layers", *sources, "--json")
    report = json.loads(ran.out)
    assert report["first"]["source"][-1]["line"] in (13, 14)
    assert report["results"][0]["exceeds"]


def test_the_first_difference_inside_machine_code(command: Command) -> None:
    """A pass that drops the activation: without values the output of the delegate, with them the kernel."""
    line = ("et-compile", "nets.py:layers", "-q", "-o", "net.pte", "--debug-map", "map.json")
    planted = ("--load", "wrong.py", "--pass", "edge:drop")
    shown: list[tuple[str, str]] = []
    for backend in (KEPT, ("--backend", "native", "--target", "et-vm")):
        assert command(*line, *planted, *backend).code == 0
        given = ("net.pte", "nets.py:layers", "--debug-map", "map.json", "--native")
        report = compared(command, *given, code=1)
        shown.append((report["first"]["node"], report["first"]["operator"]))
        if backend is KEPT:
            assert report["first"]["source"][-1]["line"] == 14
    assert shown == [("mul", "convolution_0"), ("", "lowered_0")]


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 0, 1), (0, 2, 3, 1), (0, 3, 2, 1)])
def test_orders_of_dimensions(order: tuple[int, ...]) -> None:
    """Values of nodes that may be in other orders are compared in the one that fits, others as they are."""
    random = np.random.default_rng(0)
    for sizes in ((2, 3, 4, 5), (1, 4, 4, 4)):
        array = random.standard_normal(sizes[: len(order)])
        reference = [ObservedValue("a", "aten.exp", Location(), 0, (0, 0), array)]
        for value, is_reordered, exceeds in (
            (array.transpose(order), True, False),
            (array.transpose(order), False, True),
            (array.transpose(order) + 1, True, True),
            (array, True, False),
        ):
            found = ObservedValue("a", "node", Location(), 0, (3, 1), value, is_reordered=is_reordered)
            pairs, _ = match_values([found], reference)
            fits = is_reordered or value.shape == array.shape
            assert [pair.exceeds for pair in pairs] == [exceeds] * fits, (sizes, is_reordered)


def test_what_is_computed_together(command: Command) -> None:
    """A kernel has the value of its last node; the others are named."""
    line = ("et-compile", "nets.py:layers", "-q", "-o", "net.pte", "--debug-map", "map.json", *KEPT)
    assert command(*line, "--load", "wrong.py", "--pass", "edge:drop").code == 0
    given = ("net.pte", "nets.py:layers", "--debug-map", "map.json", "--native")
    first = compared(command, *given, code=1)["first"]
    assert first["node"] == "mul"
    assert [one["node"] for one in first["fused"]] == ["conv2d", "sigmoid"]
    assert [one["source"][-1]["line"] for one in first["fused"]] == [13, 14]
    ran = command("et-vm", "compare", *given)
    assert "first difference: convolution_0 (node mul, computed with conv2d, sigmoid) at " in ran.out


def test_levels_and_files(command: Command) -> None:
    for level in ("aten", "edge", "executorch"):
        assert command("et-compile", "nets.py:layers", "-q", "--emit", level, "-o", f"{level}.mlir").code == 0
    assert command("et-compile", "nets.py:layers", "-q", "-o", "net.pte").code == 0
    assert command("et-compile", "nets.py:layers", "-q", "-O0", "-o", "plain.pte").code == 0
    assert compared(command, "executorch.mlir", "aten.mlir")["matched_by"] == "order"
    assert compared(command, "net.pte", "edge.mlir")["values"]
    assert compared(command, "net.pte", "plain.pte")["values"]


def test_non_finite_values(command: Command) -> None:
    assert command("et-compile", "nets.py:makes", "-q", "-o", "net.pte", "--emit-stacktrace").code == 0
    np.save("x.npy", np.array([1.0, 2.0, 3.0], np.float32))
    ran = command("et-vm", "compare", "net.pte", "--nan", "--input", "x.npy")
    lines = ran.out.splitlines()
    assert lines[0].startswith("first NaN: aten::log.out at ")
    assert lines[0].endswith("nets.py:38 in forward")
    assert lines[1].startswith("first infinity: aten::log.out at ")
    np.save("x.npy", np.array([4.0, 5.0, 6.0], np.float32))
    ran = command("et-vm", "compare", "net.pte", "--nan", "--input", "x.npy")
    assert (ran.code, ran.out) == (0, "no NaN or infinity\n")


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack"), KEPT])
def test_a_recorded_execution(command: Command, backend: tuple[str, ...]) -> None:
    """The values of an ETDump are those of the run that wrote it, and its ETRecord finds the same nodes."""
    line = ("et-compile", "nets.py:layers", "-q", "-o", "net.pte", "--debug-map", "map.json", *backend)
    assert command(*line, "--etrecord", "net.etrecord").code == 0
    recorded = ("--write-etdump", "run.etdp", "--debug-buffer", "run.bin", "--repeat", "1", "--no-peak")
    assert command("et-vm", "profile", "net.pte", "--native", *recorded).code == 0
    maps = ("--debug-map", "map.json")
    report = compared(
        command, "run.etdp", "nets.py:layers", *maps, "--debug-buffer", "run.bin", "--input", "random:0"
    )
    direct = compared(command, "net.pte", "nets.py:layers", *maps, "--native", "--input", "random:0")
    assert report["matched_by"] == "node"
    assert {one["node"] for one in report["values"]} == {one["node"] for one in direct["values"]}
    assert report["first"] is None
    # The wrong inputs are other values.
    compared(
        command,
        "run.etdp",
        "nets.py:layers",
        *maps,
        "--debug-buffer",
        "run.bin",
        "--input",
        "random:1",
        code=1,
    )
    ran = command("et-vm", "profile", "--etdump", "run.etdp", "--etrecord", "net.etrecord")
    assert "aten.convolution.default" in ran.out
    given = ("--etrecord", "net.etrecord", "--debug-buffer", "run.bin", "--gap", "MSE")
    ran = command("et-vm", "profile", "--etdump", "run.etdp", *given)
    assert ran.out.splitlines()[0].split() == ["MSE", "events", "nodes"]
    assert "linear" in ran.out
    Path("small.bin").write_bytes(Path("run.bin").read_bytes()[:64])
    for line, code, message in (
        (("compare", "run.etdp", "nets.py:layers"), 2, "needs --debug-buffer and --debug-map"),
        (
            ("compare", "run.etdp", "nets.py:layers", "--debug-buffer", "small.bin", *maps),
            3,
            "is not in the debug",
        ),
        (("profile", "net.pte", "--etrecord", "net.etrecord"), 2, "--etrecord applies to --etdump"),
        (("profile", "--etdump", "run.etdp", "--gap", "L1"), 2, "--gap needs --etrecord and --debug-buffer"),
        (("profile", "--etdump", "run.etdp", "--etrecord", "net.pte"), 3, "not an ETRecord"),
    ):
        ran = command("et-vm", *line)
        assert (ran.code, message in ran.err) == (code, True), ran
    assert command("et-compile", "nets.py:layers", "-q", "--emit", "edge", "--etrecord", "x").code == 2


@pytest.mark.parametrize(
    ("metadata", "operator"),
    [([], ""), ([b"Convolution"], "Convolution"), ([b"Convolution", b"Clamp"], "Clamp")],
)
def test_names_of_the_parts_of_a_delegate(metadata: list[bytes], operator: str) -> None:
    """The last of the calls of a part; a backend may say nothing."""
    event = Event(
        "7",
        PerfData([1.0]),
        instruction_id=2,
        delegate_debug_identifier=7,
        raw_delegate_debug_metadatas=metadata,
        debug_data=[np.ones(3)],
    )
    inside = {"7": [("conv", Location()), ("relu", Location())]}
    source = InstructionSource("lowered", "XnnpackBackend", Location(), inside, "XnnpackBackend")
    (found,) = recorded_values([event], {2: source})
    assert (found.operator, found.node, found.step) == (operator, "relu", (2, 1))
    assert found.fused == (("conv", Location()),)


def test_wrong_usage(command: Command) -> None:
    for net in ("layers", "loop"):
        assert command("et-compile", f"nets.py:{net}", "-q", "-o", f"{net}.pte").code == 0
    Path("deep.json").write_text("[" * 100_000)
    buffer = ("--debug-buffer", "run.bin")
    recorded = ("--write-etdump", "run.etdp", *buffer, "--repeat", "1", "--no-peak")
    assert command("et-vm", "profile", "layers.pte", *recorded).code == 0
    for line, code, message in (
        (("layers.pte",), 2, "needs a reference"),
        (("layers.pte", "nets.py"), 2, "nets.py"),
        (("layers.pte", "missing.pte"), 2, "missing.pte"),
        (("layers.pte", "layers.pte", "--debug-map", "nets.py"), 3, "not a debug map"),
        (("layers.pte", "layers.pte", "--debug-map", "deep.json"), 3, "it is nested too deeply"),
        (("run.etdp", "layers.pte", "--debug-map", "deep.json", *buffer), 3, "it is nested too deeply"),
        (("layers.pte", "layers.pte", "--method", "other"), 2, "no method 'other'"),
        (("layers.pte", "layers.pte", "--bound", "x"), 2, "'x' is not a finite, non-negative number"),
    ):
        ran = command("et-vm", "compare", *line)
        assert (ran.code, message in ran.err) == (code, True), ran
