"""`et-vm compare` with an execution on the stock runtime: its ETDump, and the values in its debug buffer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from et_tools.et_compile import main as et_compile
from et_tools.et_vm import main as et_vm

pytestmark = pytest.mark.filterwarnings("ignore")  # of stock about itself

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
"""

WRONG = """
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.dialects.edge import ops as edge


@dataclass(frozen=True)
class DropPass(ModulePass):
    name = "drop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in list(op.walk()):
            if isinstance(one, edge.ReluOp):
                one.results[0].replace_all_uses_with(one.self)
                one.detach()
                one.erase()
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tests: a process imports a file of one name once."""
    folder = tmp_path_factory.mktemp("compare_stock")
    (folder / "stock_nets.py").write_text(NETS)
    (folder / "stock_wrong.py").write_text(WRONG)
    x = np.random.default_rng(0).standard_normal((1, 3, 6, 5))
    np.save(folder / "x.npy", x.astype(np.float32))
    return folder


@pytest.fixture
def compared(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """Compiles, executes on the stock runtime, and compares: the report, and the code of the command."""
    monkeypatch.chdir(files)

    def compare(*options: str) -> dict[str, Any]:
        from executorch.runtime import Runtime

        line = ("stock_nets.py:layers", "-q", "-o", "net.pte", "--debug-map", "map.json", *options)
        assert et_compile(list(line)) == 0
        program = Runtime.get().load_program("net.pte", enable_etdump=True, debug_buffer_size=1 << 24)
        program.load_method("forward").execute([torch.from_numpy(np.load("x.npy"))])
        program.write_etdump_result_to_file("run.etdp", "run.bin")
        capsys.readouterr()
        recorded = (
            "run.etdp",
            "stock_nets.py:layers",
            "--debug-buffer",
            "run.bin",
            "--debug-map",
            "map.json",
        )
        code = et_vm(["compare", *recorded, "--input", "x.npy", "--json"])
        return json.loads(capsys.readouterr().out) | {"code": code}

    return compare


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")])
def test_values_of_the_stock_runtime(
    compared: Callable[..., dict[str, Any]], backend: tuple[str, ...]
) -> None:
    """Of each instruction; of a delegate, which does not tell of its nodes there, the results."""
    report = compared(*backend)
    assert (report["code"], report["first"], report["matched_by"]) == (0, None, "node")
    nodes = {one["node"] for one in report["values"]}
    assert nodes == {"relu", "sigmoid", "mul", "linear"} if not backend else report["values"]


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")])
def test_the_first_difference_on_the_stock_runtime(
    compared: Callable[..., dict[str, Any]], backend: tuple[str, ...]
) -> None:
    report = compared("--load", "stock_wrong.py", "--pass", "edge:drop", *backend)
    assert report["code"] == 1
    if not backend:
        # The ReLU is gone: what reads it is the first that differs.
        assert report["first"]["node"] == "sigmoid"
        assert report["first"]["source"][-1]["line"] == 14
    else:
        assert report["results"][0]["exceeds"]
