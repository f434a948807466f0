"""In-place concatenation and splitting against eager results.

What is concatenated is computed in its place, and what is taken apart is read where it lies: in every runtime with
the results of eager, after the file has been read and planned again, too.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch
from stock import StockRuntime
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.dialects.executorch import KernelCallOp
from et_ir.dialects.executorch.layout import Tensor as Tensor_
from et_ir.driver.stages import run_pipeline
from et_ir.emit import disassemble, write
from et_schema.pte import read_pte
from et_vm.runtime import Runtime


class Dense(nn.Module):
    """Each layer's result behind those of the layers before."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(4 * (i + 1), 4, 3, padding=1) for i in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x).relu()], 1)
        return x


class Calls(nn.Module):
    def __init__(self, call: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Tensor) -> object:
        return self.call(x)


def shuffled(x: Tensor) -> Tensor:
    a, b = x.relu().split([2, 2], 1)
    return torch.cat([b.exp(), a.sigmoid(), a], 1) + 1


def kept(x: Tensor) -> tuple[Tensor, ...]:
    """A view is an output, and live after its base."""
    a, b = x.exp(), x.neg()
    whole = torch.cat([a, b], 1)
    return whole, a, (a * whole[:, :4]).sum(), whole.relu()


def changed(x: Tensor) -> tuple[Tensor, Tensor]:
    """A view is live after its base has been overwritten."""
    a = x.exp()
    return torch.cat([a, x.neg()], 1).relu(), a.sin()


def normalised(x: Tensor) -> Tensor:
    """A kernel with several results; one part twice."""
    a = nn.functional.layer_norm(x, [8])
    return torch.cat([a, a, a.softmax(-1)], 1).flatten()


def rotated(x: Tensor) -> Tensor:
    """Halves of rows, which are not contiguous, and halves of the tensor, which are."""
    first, second = x.chunk(2, -1)
    x = torch.cat([-second, first], -1)
    first, second = x.chunk(2, 1)
    return torch.cat([-second, first], 1)


PROGRAMS: dict[str, Callable[[], nn.Module]] = {
    "dense": Dense,
    "shuffled": lambda: Calls(shuffled),
    "kept": lambda: Calls(kept),
    "changed": lambda: Calls(changed),
    "normalised": lambda: Calls(normalised),
    "rotated": lambda: Calls(rotated),
    "stacked": lambda: Calls(lambda x: torch.stack([x.exp(), x, x.abs()])),
    "input parts": lambda: Calls(lambda x: [part * 2 for part in x.unbind(1)] + [x[:, 1:3] + x[:, 2:]]),
}
COPIES = {
    "dense": 0, "shuffled": 0, "kept": 0, "changed": 0, "normalised": 0, "rotated": 2, "stacked": 0, "input parts": 0,
}  # fmt: skip
"""The numbers of remaining concatenations and slices."""


def left(module: ModuleOp) -> int:
    """Tiles of the products that convolutions become are not counted: matrices, and rows of images with a margin."""
    moved = ("aten::cat.out", "aten::slice_copy.Tensor_out", "aten::select_copy.int_out")
    calls = [op for op in module.walk() if isinstance(op, KernelCallOp)]
    with_margins = {op.arguments[0] for op in calls if op.key == "aten::constant_pad_nd.out"}
    return sum(
        (
            op.key in moved
            and cast(Tensor_, op.outs[0].type).get_num_dims() > 2
            and op.outs[0] not in with_margins
        )
        or op.list_out is not None
        for op in calls
    )


@pytest.mark.parametrize("last", [False, True], ids=["contiguous", "channels last"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str, last: bool, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = PROGRAMS[name]().eval(), torch.randn(1, 4, 8, 8)
    if last:
        x = x.contiguous(memory_format=torch.channels_last)
    expected = model(x)
    expected = [expected] if isinstance(expected, Tensor) else list(expected)
    made = to_edge(torch.export.export(model, (x,))).to_executorch()
    if not last:
        assert left(made.module) == COPIES[name]
    again = disassemble(read_pte(made.buffer))
    run_pipeline(again, "plan-memory{check=true},verify-executorch")
    stream = io.BytesIO()
    write(again, stream)
    arenas: list[list[int]] = []
    for data in (made.buffer, stream.getvalue()):
        path = tmp_path / "program.pte"
        path.write_bytes(data)
        results = [stock.run(path, [x])]
        for kernels in ("portable", "aten"):
            program = Runtime.get().load_program(path, kernels=kernels, poison=True)
            assert program.core.clashes("forward") == []
            results.append(program.load_method("forward").execute([x]))
        for result in results:
            for actual, wanted in zip(result, expected, strict=True):
                torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-5)
        arenas.append(list(read_pte(data).program.execution_plan[0].non_const_buffer_sizes))
    assert arenas[0] == arenas[1]


class Stem(nn.Module):
    """The peak is before the pool; then come a depthwise convolution, and another pool."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 32, 1)
        self.wide = nn.Conv2d(32, 96, 1, bias=False)
        self.depthwise = nn.Conv2d(96, 96, 3, 2, 1, groups=96)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(self.first(x).relu(), 3, 2, 1)
        return nn.functional.avg_pool2d(nn.functional.hardtanh(self.depthwise(self.wide(x).relu())), 2)


def test_channels_in_groups(stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = Stem().eval(), torch.randn(1, 4, 64, 64)
    program = torch.export.export(model, (x,))
    made = to_edge(program).to_executorch()
    arena = sum(read_pte(made.buffer).program.execution_plan[0].non_const_buffer_sizes)
    assert arena < 0.6 * (4 * 32 * 64 * 64 + 12 * 32 * 32 * 32)  # the first result, and that of its pool
    path = tmp_path / "stem.pte"
    path.write_bytes(made.buffer)
    results = [stock.run(path, [x])[0]]
    for kernels in ("portable", "aten"):
        method = Runtime.get().load_program(path, kernels=kernels, poison=True).load_method("forward")
        results.append(method.execute([x])[0])
    for result in results:
        torch.testing.assert_close(result, model(x), rtol=1e-4, atol=1e-5)


def test_outputs_that_the_caller_gives_memory_for() -> None:
    """They stay alone."""
    x = torch.randn(1, 4, 8, 8)
    program = torch.export.export(Calls(lambda x: torch.cat([x.exp(), x.neg()], 1)), (x,))
    made = to_edge(program).to_executorch(ExecutorchBackendConfig(alloc_graph_output=False))
    assert left(made.module) == 1
