"""Folding and removal of state: outputs stay those of eager, and the remaining state can be saved."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime


class Notes(nn.Module):
    """One buffer is kept, one only counts, one is never anything else."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        self.scale.copy_(self.scale * 1)
        self.total.add_(x)
        return self.total * self.scale


@pytest.mark.parametrize(
    ("level", "names"),
    [
        ("0", {"total", "calls", "scale"}),
        ("1", {"total", "calls"}),
        ("2", {"total", "calls"}),
        ("s", {"total"}),
    ],
)
def test_outputs_and_names(level: str, names: set[str], tmp_path: Path) -> None:
    x = torch.rand(4)
    exported = torch.export.export(Notes().eval(), (x,))
    edge = to_edge(exported, compile_config=EdgeCompileConfig(level=level))
    program = Runtime.get().load_program(edge.to_executorch(ExecutorchBackendConfig(level=level)).buffer)
    method, eager = program.load_method("forward"), Notes()
    assert set(method.state) == names
    for _ in range(3):
        torch.testing.assert_close(method.execute((x,))[0], eager(x))
    method.state.save(tmp_path / "state.safetensors")
    again = program.load_method("forward")
    again.state.load(tmp_path / "state.safetensors")
    torch.testing.assert_close(again.execute((x,))[0], eager(x))
