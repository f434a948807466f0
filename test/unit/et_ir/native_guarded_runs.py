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
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "et_vm"))

import xnnpack_graphs
from guarded_memory import GuardedPlatform, guarded_bytes

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.backends.native import NativePartitioner
from et_schema.native import NativeProgram, evaluate_size, interface_symbol, read_native, serialize_native
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
    (image(nn.Conv2d(33, 20, 3, padding=1), nn.Conv2d(20, 35, 3)), [(2, 33, 13, 10)]),
]


class Encoder(nn.Module):
    """Projections, attention within a sequence, a norm and what is fused with them."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.norm = nn.Linear(24, 24), nn.LayerNorm(24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = torch.relu(self.project(x)).view(x.shape[0], x.shape[1], 3, 8).transpose(1, 2)
        weights = torch.softmax(heads @ heads.transpose(-1, -2), -1)
        return self.norm((weights @ heads).transpose(1, 2).reshape(x.shape) + x)[:, 1:]


B, N = torch.export.Dim("b", min=1, max=4), torch.export.Dim("n", min=5, max=37)
H = torch.export.Dim("h", min=5, max=21)
SIZED: list[tuple[nn.Module, Any, list[list[tuple[int, ...]]]]] = [
    (Chain(), ({1: N}, {0: B, 1: N}), [[(1, n), (b, n)] for b, n in ((3, 9), (1, 5), (4, 37), (2, 33))]),
    (Products(33, 47, 10), ({0: N},), [[(n, 33)] for n in (7, 5, 6, 13, 18, 23, 37)]),
    (
        Matrices(),
        ({0: B, 1: N}, {0: B, 2: N}),
        [[(b, n, 5), (b, 5, n)] for b, n in ((2, 7), (1, 5), (4, 37))],
    ),
    (Rows(), ({1: B, 2: N}, {0: N}), [[(3, b, n), (n,)] for b, n in ((2, 7), (1, 5), (4, 37), (3, 16))]),
    (
        image(
            nn.Conv2d(3, 17, 3, 2, 1),
            nn.Conv2d(17, 17, 3, padding=1, groups=17),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(17, 5, (1, 2), padding=(0, 1)),
            nn.AvgPool2d(2, 1, 1),
        ),
        ({0: B, 2: H, 3: N},),
        [[(b, 3, h, n)] for b, h, n in ((2, 7, 9), (1, 5, 5), (4, 21, 37), (3, 6, 16))],
    ),
    (Encoder(), ({0: B, 1: N},), [[(b, n, 24)] for b, n in ((2, 7), (1, 5), (4, 37), (3, 16))]),
]
"""Modules whose sizes are known at run time only, and the shapes of inputs to run them with."""


Shapes = list[tuple[int, ...]]


def blobs(name: str) -> Iterator[tuple[str, NativeProgram, dict[str, memoryview], list[Shapes]]]:
    """Each case compiled: its tables, the named data, and the shapes of inputs to run it with."""
    fixed = [(module, None, [shapes]) for module, shapes in CASES]
    for number, (module, dynamic, runs) in enumerate([*fixed, *SIZED]):
        torch.manual_seed(number)
        inputs = tuple(torch.randn(shape) for shape in runs[0])
        exported = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
        edge = to_edge(exported).to_backend(NativePartitioner(instruction_sets=[name]))
        pte = read_pte(memoryview(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer))
        (plan,) = pte.program.execution_plan
        (delegate,) = plan.delegates
        assert delegate.processed is not None
        program = read_native(pte.delegate_data(delegate.processed))
        yield f"case {number}", program, dict(pte.named_data()), runs


def told(program: NativeProgram, shapes: Shapes) -> tuple[list[int], list[list[int]]]:
    """The words of a call with inputs of these shapes, and the shapes of its outputs."""
    words = [shapes[word.input][word.dim] for word in program.words]
    computed = [evaluate_size(size, words) for size in program.sizes]
    return words, [[size if size >= 0 else computed[~size] for size in one.sizes] for one in program.outputs]


def run(
    program: NativeProgram, data: dict[str, memoryview], shapes: Shapes, threads: int, *, guard: bool | None
) -> list[bytes]:
    """The bytes of the outputs; `guard` is where memory touches a guard page: at its end or start, or nowhere."""

    def placed(raw: np.ndarray) -> np.ndarray:
        memory = np.zeros(raw.nbytes, np.uint8) if guard is None else guarded_bytes(raw.nbytes, at_end=guard)
        memory[:] = raw.reshape(-1).view(np.uint8)
        return memory

    random = np.random.default_rng(0)
    _, results = told(program, shapes)
    inputs = [placed(random.standard_normal(shape).astype(np.float32)) for shape in shapes]
    outputs = [placed(np.full(shape, np.nan, np.float32)) for shape in results]
    args = [
        xnnpack_graphs.tensor(memory.view(np.float32).reshape(shape))
        for memory, shape in zip([*inputs, *outputs], [*shapes, *results], strict=True)
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
    for label, program, data, runs in blobs(name):
        if options and program.arena_size > 4096:
            # Which is an error before anything runs, unless the code says that it is for less.
            symbol = interface_symbol(program)
            program.arena_size -= 4096
            print(f"{label} with too small an arena", flush=True)
            with patch("et_vm.backends.native.backend.interface_symbol", return_value=symbol):
                run(program, data, runs[0], 1, guard=True)
        if options:
            continue
        for shapes in runs:
            expected = run(program, data, shapes, 1, guard=None)
            for threads in (1, 2, 3):
                for guard in (None, True, False):
                    found = run(program, data, shapes, threads, guard=guard)
                    assert found == expected, (label, shapes, threads, guard)
        print(label, "arena", program.arena_size, flush=True)
    print("done")


if __name__ == "__main__":
    faulthandler.enable()
    main()
