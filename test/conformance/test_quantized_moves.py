"""Operators that move elements between layers in 8 bits: integers on every back end that computes in these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stock import StockRuntime
from support.quantized_nets import Net
from torch import Tensor, nn

from et_backends.tosa.compiler import TOSAPartitioner
from et_backends.tosa.compiler.partitioner import TosaCompileSpec
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.delegation.partitioner import Partitioner
from et_ir.quantization import quantize
from et_vm.runtime import Runtime

Move = Callable[[Tensor], Tensor]

MOVES: dict[str, Move] = {
    "broadcast": lambda y: y[:1].expand(8, 16)[:, :8],
    "chunk": lambda y: torch.add(*y.chunk(2, -1)),
    "flatten": lambda y: y.view(8, 2, 8).flatten(0, 1),
    "movedim": lambda y: y.view(8, 2, 8).movedim(0, 1)[0],
    "narrow": lambda y: y.narrow(1, 3, 8),
    "permute": lambda y: y.view(2, 8, 8).permute(1, 0, 2)[:, 1],
    "select": lambda y: y.view(8, 2, 8)[:, 0] + y.view(8, 2, 8)[:, 1],
    "slice": lambda y: y[:, :8] + y[:, 8:],
    "split": lambda y: torch.add(*y.split(8, -1)),
    "split of a part": lambda y: y.split([2, 8, 6], -1)[1],
    "squeeze": lambda y: y.unsqueeze(1)[..., :8].squeeze(1),
    "t": lambda y: y.t()[:8] + y.t()[8:],
    "transpose": lambda y: y.transpose(0, 1)[:8],
    "unbind": lambda y: torch.add(*y.view(8, 2, 8).unbind(1)),
    "unflatten": lambda y: y.unflatten(1, (2, 8)).select(1, 1),
}
"""From (8, 16) to rows of 8."""


def quantized_net(move: Move) -> tuple[torch.export.ExportedProgram, tuple[Tensor, ...]]:
    torch.manual_seed(0)
    net = Net(lambda m, x: m[1](move(m[0](x))), nn.Linear(8, 16), nn.Linear(8, 4)).eval()
    inputs = (torch.randn(8, 8),)
    made = quantize(net, inputs, "int8", calibration=[inputs])
    return torch.export.export(made.module, inputs), inputs


def delegates_and_floats(edge: Any) -> tuple[int, list[str]]:
    """The number of partitions of a program, and its operators besides that do not quantize or restore."""
    names = [op.name for op in edge.module.walk()]
    left = [name for name in names if name.startswith("edge.") and "quantize_per_tensor" not in name]
    return names.count("backend.call"), left


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("backend", ["tosa", "xnnpack"])
def test_one_partition_without_floats(backend: str, name: str, stock: StockRuntime, tmp_path: Path) -> None:
    program, inputs = quantized_net(MOVES[name])
    partitioner: Partitioner = (
        TOSAPartitioner(TosaCompileSpec("TOSA-1.0+INT")) if backend == "tosa" else XnnpackPartitioner()
    )
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    assert delegates_and_floats(edge) == (1, [])
    path = tmp_path / "moves.pte"
    edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).save(path)
    made = Runtime.get().load_program(path).load_method("forward").execute(list(inputs))
    wanted = program.module()(*inputs).detach().numpy()
    for found in (made, *([stock.run(path, inputs)] if backend == "xnnpack" else [])):
        assert np.abs(np.asarray(found[0]) - wanted).max() <= 2 * float(np.ptp(wanted)) / 255
