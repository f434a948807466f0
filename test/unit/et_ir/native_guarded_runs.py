"""Runs compiled partitions with inaccessible pages around everything they read and write.

python native_guarded_runs.py INSTRUCTION_SET [--shrink]

An access outside of an input, output, constant, arena or context ends the process with SIGSEGV. With `--shrink`, the
arena is smaller than the code needs, which must end it.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "et_vm"))

import xnnpack_graphs
from guarded_memory import GuardedPlatform, guarded_bytes

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.backends.native import NativePartitioner
from et_schema.native import NativeProgram, read_native, serialize_native
from et_schema.pte import read_pte
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.backends.native.backend import NativeBackend
from et_vm.platform import Platform


class Chain(nn.Module):
    """Pointwise ops with broadcasts."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x + y) * x.clamp(-1, 2) + torch.exp(y)


class Products(nn.Module):
    """Two products with odd sizes, and an intermediate result in the arena."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(sizes[0], sizes[1]), nn.Linear(sizes[1], sizes[2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Matrices(nn.Module):
    """A batch of products of inputs."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x, y)


class Rows(nn.Module):
    """Softmax, a norm and reductions along rows and across them, of sizes that fill no vector."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        rows = torch.softmax(x * 2 + y, -1) + nn.functional.layer_norm(x, x.shape[-1:])
        return rows.amax(-1).sum() + torch.softmax(x, 0).mean((0, 1)) * torch.log1p(y.abs())


def image(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers, nn.ReLU())


CASES: list[tuple[nn.Module, list[tuple[int, ...]]]] = [
    (Chain(), [(3, 1, 50), (7, 50)]),
    (Chain(), [(1,), (1,)]),
    (Chain(), [(17,), (17,)]),
    (Products(3, 5, 1), [(2, 3)]),
    (Products(33, 47, 10), [(13, 33)]),
    (Products(16, 64, 48), [(193, 16)]),
    (Rows(), [(3, 5, 37), (37,)]),
    (Rows(), [(2, 3, 130), (130,)]),
    (Rows(), [(1, 2, 1), (1,)]),
    (Matrices(), [(2, 3, 5), (2, 5, 7)]),
    (Matrices(), [(3, 13, 9), (3, 9, 33)]),
    (image(nn.Conv2d(3, 17, 3, 2, 1), nn.Conv2d(17, 17, 3, padding=1, groups=17)), [(1, 3, 9, 7)]),
    (image(nn.Conv2d(5, 7, (3, 2), (1, 2), (2, 0)), nn.MaxPool2d(2)), [(2, 5, 6, 9)]),
    (image(nn.Conv2d(6, 10, 1), nn.AvgPool2d(3, 2, 1)), [(1, 6, 8, 11)]),
    (
        image(nn.Conv2d(5, 18, 1), nn.Conv2d(18, 18, 3, 2, 1, groups=18), nn.Conv2d(18, 7, 1)),
        [(2, 5, 9, 37)],
    ),
]


def blobs(name: str) -> Iterator[tuple[str, NativeProgram, dict[str, memoryview]]]:
    """Each case compiled: its tables, and the named data."""
    for number, (module, shapes) in enumerate(CASES):
        torch.manual_seed(number)
        exported = torch.export.export(module.eval(), tuple(torch.randn(shape) for shape in shapes))
        edge = to_edge(exported).to_backend(NativePartitioner(instruction_sets=[name], bands=0))
        pte = read_pte(memoryview(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer))
        (plan,) = pte.program.execution_plan
        (delegate,) = plan.delegates
        assert delegate.processed is not None
        yield f"case {number}", read_native(pte.delegate_data(delegate.processed)), dict(pte.named_data())


def run(
    program: NativeProgram, data: dict[str, memoryview], threads: int, *, guard: bool | None
) -> list[bytes]:
    """The bytes of the outputs; `guard` is where memory touches a guard page: at its end or start, or nowhere."""

    def placed(raw: np.ndarray) -> np.ndarray:
        memory = np.zeros(raw.nbytes, np.uint8) if guard is None else guarded_bytes(raw.nbytes, at_end=guard)
        memory[:] = raw.reshape(-1).view(np.uint8)
        return memory

    random = np.random.default_rng(0)
    inputs = [placed(random.standard_normal(one.sizes).astype(np.float32)) for one in program.inputs]
    outputs = [placed(np.full(one.sizes, np.nan, np.float32)) for one in program.outputs]
    tables = [*program.inputs, *program.outputs]
    args = [
        xnnpack_graphs.tensor(memory.view(np.float32).reshape(one.sizes))
        for memory, one in zip([*inputs, *outputs], tables, strict=True)
    ]
    constants = {key: memoryview(placed(np.frombuffer(one, np.uint8))) for key, one in data.items()}
    platform = Platform() if guard is None else GuardedPlatform(at_end=guard)
    context = BackendInitContext(
        platform, None, "forward", constants, poison=True, native=NativeOptions(allowed=True, threads=threads)
    )
    backend = NativeBackend()
    handle = backend.init(context, memoryview(serialize_native(program)), [])
    backend.execute(BackendExecuteContext(platform, None, "forward", 0), handle, args)
    return [arg.array.tobytes() for arg in args[len(program.inputs) :]]


def main() -> None:
    name, *options = sys.argv[1:]
    for label, program, data in blobs(name):
        if options and program.arena_size > 4096:
            program.arena_size -= 4096
            print(f"{label} with too small an arena", flush=True)
            run(program, data, 1, guard=True)
        if options:
            continue
        expected = run(program, data, 1, guard=None)
        for threads in (1, 2, 3):
            for guard in (None, True, False):
                assert run(program, data, threads, guard=guard) == expected, (label, threads, guard)
        print(label, "arena", program.arena_size, flush=True)
    print("done")


if __name__ == "__main__":
    faulthandler.enable()
    main()
