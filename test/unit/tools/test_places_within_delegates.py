"""Modules and source lines within delegates: in `et-vm profile` by what backends report, and in `et-vm debug`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Command

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        y = self.norm(self.body(torch.cumsum(x, 0)))
        return torch.softmax(y, -1)


def net():
    torch.manual_seed(0)
    return Net(), (torch.ones(2, 16),)
"""


@pytest.mark.parametrize("backend", ["xnnpack", "native"])
def test_profiles(command: Command, workplace: Path, backend: str) -> None:
    Path("net.py").write_text(NET)
    line = ("et-compile", "net.py:net", "-q", "--target", "et-vm", "--backend", backend, "-o", "net.pte")
    assert command(*line, "--debug-map", "map.json").code == 0

    def profiled(*options: str) -> Any:
        ran = command(
            "et-vm", "profile", "net.pte", "--native", "--no-peak", "--debug-map", "map.json", *options
        )
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    rows = profiled("--json")["rows"]
    events = [event for row in rows for event in row.get("events", ())]
    assert {"body.0", "body.2"} <= {event["module"] for event in events}
    assert any(event["line"].endswith("net.py:14") for event in events)
    (last,) = (event for event in events if event["module"] == "body.2")
    assert last["flops"] == 2 * 8 * (2 * 32 + 1)
    assert last["bytes_read"] == 4 * (2 * 32 + 8 * 32 + 8)
    assert last["gflops"] > 0
    name = {"xnnpack": "XnnpackBackend", "native": "NativeBackend"}[backend]
    for by, wanted in (
        ("module", {"body.0", "body.2", "norm"}),
        ("operator", set[str]()),
        ("line", set[str]()),
    ):
        report = profiled("--by", by, "--json")
        names = {row["name"] for row in report["rows"]}
        assert wanted <= names
        assert (name if by == "operator" else f"({name})") in names
        # Nothing is counted twice.
        assert sum(row["min_ns"] for row in report["rows"]) <= report["instructions_ns"]["min"] * 1.001
    shown = command(
        "et-vm", "profile", "net.pte", "--native", "--no-peak", "--debug-map", "map.json", "--wide"
    ).out
    assert any("body.2" in row and row.split()[3].endswith("%") for row in shown.splitlines())
    traced = ("--trace", "trace.json", "--flamegraph", "net.folded", "--json")
    profiled(*traced)
    spans = [
        one for one in json.loads(Path("trace.json").read_text())["traceEvents"] if one.get("cat") == "module"
    ]
    assert {"body.0", "body.2"} <= {one["name"] for one in spans}
    assert f"forward;body;2;{name};" in Path("net.folded").read_text()


def test_breakpoints(command: Command, workplace: Path) -> None:
    """A module and a line of a part stop before the call of the delegate."""
    Path("net.py").write_text(NET)
    line = (
        "et-compile",
        "net.py:net",
        "-q",
        "--backend",
        "xnnpack",
        "-o",
        "net.pte",
        "--debug-map",
        "map.json",
    )
    assert command(*line).code == 0
    for chosen, stops in (
        ("module body.2", True),
        ("net.py:14", True),
        ("module other", False),
        ("net.py:3", False),
    ):
        given = ("--debug-map", "map.json", "--command", f"break {chosen}", "--command", "continue")
        ran = command("et-vm", "debug", "net.pte", *given)
        assert ran.code == 0, ran.err
        assert f"breakpoint 1: {chosen}" in ran.out
        assert ("end of the execution" not in ran.out) == stops, ran.out
