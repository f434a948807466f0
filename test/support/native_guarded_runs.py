"""Runs compiled partitions with inaccessible pages around everything they read and write.

python native_guarded_runs.py INSTRUCTION_SET [--shrink]

An access outside of an input, output, constant, arena or context ends the process with SIGSEGV. With `--shrink`, the
arena is smaller than the code needs, which must end it.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import (
    NativeProgram,
    evaluate_size,
    interface_symbol,
    read_native,
    serialize_native,
)
from et_backends.native.runtime.backend import NativeBackend
from et_ir import EdgeProgramManager, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_schema.pte import read_pte
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.platform import Platform
from support import xnnpack_graphs
from support.guarded_memory import GuardedPlatform, guarded_bytes

import_module("torch.ao.quantization.fx._decomposed")  # registers the operators
QUANTIZED: Any = torch.ops.quantized_decomposed


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


class Attention(nn.Module):
    """Weighted sums of values, of sizes that fill no vector, tile or block."""

    def forward(self, k: torch.Tensor, q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.mT, -1) @ v + 1


class Transposed(nn.Module):
    """A product with a transposed matrix, in blocks of the shared dimension, whose result is transposed."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(y @ x.t()).t().reshape(-1) * 2


class Resized(nn.Module):
    """Resizes, pads and windows of several sizes, each of which reads tables."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.interpolate(x, scale_factor=1.7)
        y = nn.functional.interpolate(y, size=(5, 9), mode="bilinear", align_corners=True)
        y = nn.functional.pad(nn.functional.pad(y, (1, 2, 3, 0), mode="reflect"), (-1, 2, 0, 0, 1, 0))
        return nn.functional.adaptive_avg_pool2d(y, (4, 3))


class Computed(nn.Module):
    """Filters that are inputs."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return nn.functional.conv_transpose2d(nn.functional.conv2d(x, w), w, stride=2, padding=1)


class Bytes(nn.Module):
    """Products of bytes, of sizes that fill no vector; scales are powers of two, so that floats are exact too."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        for name, shape in {
            "first": (20, 3, 3, 3),
            "depthwise": (20, 1, 3, 3),
            "point": (35, 20, 1, 1),
            "filters": (5, 35, 2, 3),
            "matrix": (7, 5),
            "last": (19, 7),
        }.items():
            self.register_buffer(name, torch.randint(-127, 128, shape, dtype=torch.int8, generator=generator))
            self.register_buffer(f"{name}_scales", torch.full((shape[0],), 2.0**-8))
            self.register_buffer(f"{name}_zeros", torch.zeros(shape[0], dtype=torch.int64))

    def weights(self, name: str) -> torch.Tensor:
        stored, scales, zeros = (getattr(self, name + end) for end in ("", "_scales", "_zeros"))
        return QUANTIZED.dequantize_per_channel(stored, scales, zeros, 0, -127, 127, torch.int8)

    def stored(self, x: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
        limits = (scale, zero_point, -128, 127, torch.int8)
        return QUANTIZED.dequantize_per_tensor(QUANTIZED.quantize_per_tensor(x, *limits), *limits)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stored(x, 2.0**-5, -3)
        x = self.stored(torch.relu(nn.functional.conv2d(x, self.weights("first"), None, 2, 1)), 2.0**-4, -128)
        y = self.stored(nn.functional.conv2d(x, self.weights("depthwise"), None, 1, 1, 1, 20), 2.0**-3, 5)
        y = self.stored(nn.functional.hardtanh(y, 0, 6), 2.0**-4, -128) + x
        y = self.stored(
            nn.functional.conv2d(self.stored(y, 2.0**-3, -100), self.weights("point")), 2.0**-1, 1
        )
        y = nn.functional.conv2d(y, self.weights("filters"), None, (1, 2))
        y = self.stored(y.permute(0, 2, 3, 1), 2.0**2, 0)
        y = self.stored(nn.functional.linear(y, self.weights("matrix")), 2.0**3, 0)
        scale, point = QUANTIZED.choose_qparams.tensor(y, -128, 127, 2.0**-12, torch.int8)
        limits = (scale, point, -128, 127, torch.int8)
        y = QUANTIZED.dequantize_per_tensor.tensor(QUANTIZED.quantize_per_tensor.tensor(y, *limits), *limits)
        return nn.functional.linear(y, self.weights("last"))


class Joined(nn.Module):
    """Convolutions of concatenated channels, one part twice, of numbers that fill no vector."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, 20, 3, padding=1), nn.Conv2d(20, 5, (2, 5), 2, (0, 3))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        joined = torch.relu(self.first(torch.cat([x, y, x], 1)))
        return self.second(torch.cat([joined[:, 3:], y[:, :3]], 1)) + 1


class RowOfBytes(nn.Module):
    """Products of rows of bytes with 4-bit weights, of units and columns that fill no vector; scales are exact."""

    def __init__(self, columns: int, inner: int, group: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        weights = torch.randint(-8, 8, (columns, inner), dtype=torch.int8, generator=generator)
        self.register_buffer("weights", weights)
        self.register_buffer("scales", torch.full((columns, inner // group), 2.0**-3))
        self.register_buffer("zeros", torch.zeros((columns, inner // group), dtype=torch.int64))
        self.group = group

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scales = x.amax(1) * 0 + 2.0**-4
        points = (x.amax(1) * 0 - 3).to(torch.int64)
        stored = torch.clamp(torch.round(x / scales[:, None]) + points[:, None], -128, 127).to(torch.int8)
        x = QUANTIZED.dequantize_per_channel(stored, scales, points, 0, -128, 127, torch.int8)
        limits = (-8, 7, torch.int8, self.group, torch.float32)
        return nn.functional.linear(
            x, QUANTIZED.dequantize_per_channel_group(self.weights, self.scales, self.zeros, *limits)
        )


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
    (Attention(), [(2, 19, 5), (2, 17, 5), (2, 19, 3)]),
    (Attention(), [(1, 2, 300, 70), (1, 2, 33, 70), (1, 2, 300, 7)]),
    (Attention(), [(2, 290, 5), (2, 3, 5), (2, 290, 9)]),
    (Transposed(), [(19, 300), (197, 300)]),
    (image(nn.Conv2d(3, 17, 3, 2, 1), nn.Conv2d(17, 17, 3, padding=1, groups=17)), [(1, 3, 9, 7)]),
    (image(nn.Conv2d(5, 7, (3, 2), (1, 2), (2, 0)), nn.MaxPool2d(2)), [(2, 5, 6, 9)]),
    (image(nn.Conv2d(6, 10, 1), nn.AvgPool2d(3, 2, 1)), [(1, 6, 8, 11)]),
    (Resized(), [(2, 19, 7, 6)]),
    (Resized(), [(1, 1, 7, 6)]),
    (Computed(), [(1, 5, 6, 7), (18, 5, 3, 2)]),
    (image(nn.ConvTranspose2d(6, 19, 3, 2, 1, 1), nn.Conv2d(19, 57, 3, groups=19)), [(2, 6, 4, 5)]),
    (
        image(nn.Conv2d(6, 66, 3, padding=1, groups=2), nn.ConvTranspose2d(66, 66, 3, 2, groups=66)),
        [(1, 6, 4, 5)],
    ),
    (image(nn.Conv1d(5, 18, 5, padding=2), nn.Conv1d(18, 33, 3, groups=3)), [(2, 5, 11)]),
    (image(nn.Conv3d(3, 17, 3, padding=1), nn.AvgPool3d(2, 1, 1)), [(1, 3, 3, 4, 5)]),
    (image(nn.Conv2d(33, 20, 3, padding=1), nn.Conv2d(20, 35, 3)), [(2, 33, 13, 10)]),
    # Filters that are transformed in each call.
    (image(nn.Conv2d(130, 140, 3, padding=1)), [(1, 130, 8, 8)]),
    (Bytes(), [(1, 3, 17, 14)]),
    (
        image(nn.Conv2d(5, 18, 1), nn.Conv2d(18, 18, 3, 2, 1, groups=18), nn.Conv2d(18, 7, 1)),
        [(2, 5, 9, 37)],
    ),
    (Joined(3 + 19 + 3), [(2, 3, 6, 7), (2, 19, 6, 7)]),
    (Joined(16 + 5 + 16), [(1, 16, 9, 13), (1, 5, 9, 13)]),
    (RowOfBytes(19, 100, 100), [(1, 100)]),
    (RowOfBytes(33, 60, 12), [(1, 60)]),
    (RowOfBytes(531, 64, 32), [(1, 64)]),
    (RowOfBytes(531, 64, 32), [(9, 64)]),
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


KEPT = (4, 27, 28, len(CASES) + len(SIZED) - 1)
"""Cases that are also compiled with what each kernel computes in memory of its own: products, bytes, bands, sizes."""

Shapes = list[tuple[int, ...]]


def blobs(
    name: str, kept: Sequence[int] = KEPT
) -> Iterator[tuple[str, NativeProgram, dict[str, memoryview], list[Shapes]]]:
    """Each case compiled, and some once more with values kept: tables, named data, and shapes of inputs to run with."""
    fixed = [(module, None, [shapes]) for module, shapes in CASES]
    cases = [*fixed, *SIZED]
    plain = [(number, False) for number in range(len(cases))]
    for number, values in [*plain, *((number, True) for number in kept)]:
        module, dynamic, runs = cases[number]
        torch.manual_seed(number)
        inputs = tuple(torch.randn(shape) for shape in runs[0])
        exported = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
        partitioner = NativePartitioner(instruction_sets=[name], bands=0, values=values)
        if isinstance(module, Bytes | RowOfBytes):
            edge = to_edge_transform_and_lower(exported, partitioner=partitioner)
        else:
            edge = to_edge(exported).to_backend(partitioner)
        yield f"case {number}{', values kept' * values}", *_tables(edge), runs


def blob(
    module: nn.Module, inputs: tuple[torch.Tensor, ...], name: str, **options: Any
) -> tuple[NativeProgram, dict[str, memoryview]]:
    """A module compiled, with options of the partitioner: its tables and the named data."""
    partitioner = NativePartitioner(instruction_sets=[name], **options)
    return _tables(to_edge(torch.export.export(module.eval(), inputs)).to_backend(partitioner))


def _tables(edge: EdgeProgramManager) -> tuple[NativeProgram, dict[str, memoryview]]:
    pte = read_pte(memoryview(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer))
    (plan,) = pte.program.execution_plan
    (delegate,) = plan.delegates
    assert delegate.processed is not None
    return read_native(pte.delegate_data(delegate.processed)), dict(pte.named_data())


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
            with patch("et_backends.native.runtime.backend.interface_symbol", return_value=symbol):
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
