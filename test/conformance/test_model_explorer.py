"""Model Explorer: calls and delegate graphs of our files in its adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import torch
from clients import answer_of
from torch import Tensor, nn
from torch.export import export

from et_backends.xnnpack.format.blob import read_xnnpack
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.delegation.backends_by_name import find_backend
from et_schema.program import DelegateCall, KernelCall
from et_schema.pte import PteFile, read_pte

SCRIPT: Final = """
import json, sys
from pte_adapter_model_explorer.main import PTEAdapter
shown = PTEAdapter().convert(sys.argv[1], {})["graphCollections"]
print(json.dumps([[[node.label for node in graph.nodes] for graph in one.graphs] for one in shown]))
"""
ENDS: Final = ("Graph Inputs", "Graph Outputs")


class Block(nn.Module):
    """Layers, a normalization and a residual, with a scan that XNNPACK leaves to a kernel."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.norm = nn.Linear(64, 128), nn.Linear(128, 64), nn.LayerNorm(64)

    def forward(self, x: Tensor) -> Tensor:
        made = torch.softmax(self.second(torch.relu(self.first(x))), -1)
        return self.norm(made + x).cumsum(0)


def _calls(file: PteFile) -> list[str]:
    """What each call of the method names."""
    (plan,) = file.program.execution_plan
    names: list[str] = []
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            names.append(plan.operators[call.op_index].name)
        elif isinstance(call, DelegateCall):
            names.append(plan.delegates[call.delegate_index].id)
    return names


@pytest.mark.parametrize("backend", [None, "xnnpack", "native", "tosa"])
def test_calls_in_model_explorer(backend: str | None, tmp_path: Path) -> None:
    program = export(Block(), (torch.randn(4, 64),))
    partitioners = [] if backend is None else [find_backend(backend).partitioner({})]
    path = tmp_path / "model.pte"
    edge = to_edge_transform_and_lower(program, partitioner=partitioners)
    config = ExecutorchBackendConfig(target="stock-1.5" if backend in (None, "xnnpack") else "et-vm")
    path.write_bytes(edge.to_executorch(config).buffer)
    file = read_pte(memoryview(path.read_bytes()))
    (graphs, *delegates) = answer_of(SCRIPT, path)
    assert graphs == [[ENDS[0], *_calls(file), ENDS[1]]]
    assert delegates == ([[_nodes(file)]] if backend == "xnnpack" else [])


def _nodes(file: PteFile) -> list[Any]:
    """The kinds of nodes of the one delegate, as the adapter shows them."""
    (delegate,) = file.program.execution_plan[0].delegates
    assert delegate.processed is not None
    graph = read_xnnpack(file.delegate_data(delegate.processed)).graph
    kinds = [type(node.xnode_union).__name__ for node in graph.xnodes]
    return [ENDS[0], *kinds, ENDS[1]]
