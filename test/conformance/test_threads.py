"""One program, many methods on many threads, with the kernels of both libraries: the results of a thread are those of
the same inputs alone.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim, export

from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import KernelRegistry
from et_vm.program import Program
from et_vm.runtime import Runtime

THREADS = 8
RUNS = 12


class ConvNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pointwise = torch.nn.Conv2d(8, 16, 1)
        self.head = torch.nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.stem(x)))
        x = torch.nn.functional.hardtanh(self.pointwise(self.depthwise(x)), 0.0, 6.0)
        x = torch.nn.functional.max_pool2d(x, 2)
        return torch.softmax(self.head(x.mean((2, 3))), -1)


class Block(torch.nn.Module):
    """A transformer's, over a dynamic number of tokens."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.embed = torch.nn.Embedding(50, width)
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(width) for _ in range(2)])
        self.project = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.wide, self.narrow = torch.nn.Linear(width, 64), torch.nn.Linear(64, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        batch, length, width = x.shape
        split = self.project(self.norms[0](x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(torch.nn.functional.gelu(self.wide(self.norms[1](x))))


def conv_net() -> tuple[bytes, list[list[Any]]]:
    torch.manual_seed(0)
    exported = export(ConvNet().eval(), (torch.randn(2, 3, 24, 24),))
    return to_edge(exported).to_executorch().buffer, [[torch.randn(2, 3, 24, 24)] for _ in range(THREADS)]


def block() -> tuple[bytes, list[list[Any]]]:
    tokens = [torch.randint(0, 50, (1, 3 + thread)) for thread in range(THREADS)]
    torch.manual_seed(0)
    shapes = ({1: Dim("length", min=2, max=16)},)
    exported = export(Block().eval(), (tokens[2],), dynamic_shapes=shapes)
    return to_edge(exported).to_executorch().buffer, [[item] for item in tokens]


@pytest.fixture(scope="module", params=[conv_net, block], ids=["conv_net", "transformer_block"])
def model(request: pytest.FixtureRequest) -> tuple[bytes, list[list[Any]]]:
    return request.param()


@pytest.fixture(params=["portable", "aten"])
def kernels(request: pytest.FixtureRequest) -> KernelRegistry:
    return load_library(request.param)


def together(work: Any) -> list[Any]:
    """Results of `work(thread)` on each of the threads, which start it at once."""
    start = threading.Barrier(THREADS)

    def run(thread: int) -> Any:
        start.wait()
        return work(thread)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def as_numpy(outputs: list[Any]) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(output).copy() for output in outputs]


def test_methods_of_one_program(model: tuple[bytes, list[list[Any]]], kernels: KernelRegistry) -> None:
    """Loaded and executed on their threads, each with inputs of its own, of other lengths where those are dynamic."""
    data, inputs = model
    alone = Program.load(data).load_method("forward", kernels=kernels)
    expected = [as_numpy(alone.execute(given)) for given in inputs]
    program = Program.load(data)

    def work(thread: int) -> list[Any]:
        method = program.load_method("forward", kernels=kernels)
        return [as_numpy(method.execute(inputs[thread])) for _ in range(RUNS)]

    for thread, results in enumerate(together(work)):
        for result in results:
            for found, wanted in zip(result, expected[thread], strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_programs_of_one_runtime(model: tuple[bytes, list[list[Any]]]) -> None:
    """Each thread loads the file anew from a runtime that they share, while it imports its kernels."""
    data, inputs = model
    alone = Runtime().load_program(data).load_method("forward")
    expected = [as_numpy(alone.execute(given)) for given in inputs]
    runtime = Runtime()

    def work(thread: int) -> list[Any]:
        return as_numpy(runtime.load_program(data).load_method("forward").execute(inputs[thread]))

    for found, wanted in zip(together(work), expected, strict=True):
        for result, value in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(result, value)


def test_requests(model: tuple[bytes, list[list[Any]]], kernels: KernelRegistry) -> None:
    """In instances of one method, poisoned or not, in the order in which they were made, or not."""
    data, inputs = model
    program = Program.load(data)
    alone = program.load_method("forward", kernels=kernels)
    expected = [as_numpy(alone.execute(given)) for given in inputs]
    for ordered in (False, True):
        method = program.load_method("forward", kernels=kernels, poison=ordered)
        with Runtime.get().executor(threads=3, in_flight=5, ordered=ordered) as executor:
            found = list(executor.map(method, inputs * RUNS))
        for result, wanted in zip(found, expected * RUNS, strict=True):
            for one, value in zip(as_numpy(result), wanted, strict=True):
                np.testing.assert_array_equal(one, value)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("allow_native", [False, True])
def test_requests_of_machine_code(threads: int, allow_native: bool) -> None:
    """Instances share the threads that machine code has: who finds them busy does all by itself. Where machine code may
    not run, portable programs run instead.
    """
    torch.manual_seed(0)
    exported = export(ConvNet().eval(), (torch.randn(2, 3, 24, 24),))
    partitioner = NativePartitioner(fallback=True)
    edge = to_edge_transform_and_lower(exported, partitioner=partitioner)
    data = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    inputs = [[torch.randn(2, 3, 24, 24)] for _ in range(THREADS)]
    loaded = Runtime(threads=threads).load_program(data, allow_native=allow_native)
    method = loaded.load_method("forward")
    assert method.serialized_by == ()
    expected = [as_numpy(method.execute(given)) for given in inputs]
    with Runtime.get().executor(threads=3, in_flight=6) as executor:
        found = list(executor.map(method, inputs * RUNS))
    for result, wanted in zip(found, expected * RUNS, strict=True):
        for one, value in zip(as_numpy(result), wanted, strict=True):
            np.testing.assert_array_equal(one, value)


def test_the_model_is_right(model: tuple[bytes, list[list[Any]]], kernels: KernelRegistry) -> None:
    """The threads agree on the results of torch."""
    data, inputs = model
    torch.manual_seed(0)
    module = (ConvNet() if inputs[0][0].dim() == 4 else Block()).eval()
    method = Program.load(data).load_method("forward", kernels=kernels)
    with torch.no_grad():
        for given in inputs:
            (found,) = method.execute(given)
            torch.testing.assert_close(found, module(*given), rtol=1e-4, atol=1e-5)
