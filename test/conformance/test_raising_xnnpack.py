"""Files for XNNPACK, of both compilers, quantized or with sizes known at run time only: raised and compiled again."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stock_xnnpack_programs import (
    IMAGES,
    MATRICES,
    Perceptron,
    Program,
    calibrated,
    in_blocks,
    lowered,
    lowered_program,
)
from support.programs import Calls
from support.quantized_nets import NETS, made
from torch import nn
from torch.nn import functional as F

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, raise_program, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_ir.driver.managers import EdgeProgramManager
from et_vm.runtime import Runtime

COMPILERS = ("ours", "stock")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Without what torchao and stock say of themselves."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(action="ignore"):
        yield
    logging.disable(logging.NOTSET)


def compiled(program: torch.export.ExportedProgram, compiler: str) -> bytes:
    """A program with all that XNNPACK takes left to it."""
    if compiler == "stock":
        return lowered_program(program)
    return to_edge_transform_and_lower(program, partitioner=XnnpackPartitioner()).to_executorch().buffer


def outputs(file: bytes, inputs: Any) -> list[np.ndarray]:
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    return [np.array(one) for one in method.execute([one.numpy() for one in inputs])]


def names(edge: EdgeProgramManager) -> set[str]:
    return {op.name for op in edge.module.walk()}


def again(edge: EdgeProgramManager, backend: str) -> bytes:
    """The file of a raised program for et-vm, or for a backend."""
    delegated = edge if backend == "et-vm" else edge.to_backend(make_partitioner(backend))
    return delegated.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def steps(edge: EdgeProgramManager) -> float:
    """The largest scale of a raised program, of which a result may be one off."""
    return max(
        float(op.arg("scale"))
        for op in edge.module.walk()
        if op.name == "edge.quantized_decomposed.quantize_per_tensor"
    )


NORMALIZED = {"attention"}
"""Nets with a layer norm, which stock leaves to a kernel: nodes add up its floats in another order."""


@pytest.mark.sweep
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("granularity", ["per channel", "per tensor"])
@pytest.mark.parametrize("name", NETS)
def test_static_quantization(name: str, granularity: str, compiler: str) -> None:
    module, inputs = made(name)
    converted = calibrated(module, inputs, per_channel=granularity == "per channel")
    file = compiled(torch.export.export(converted, inputs), compiler)
    edge = raise_program(file)
    assert "backend.call" not in names(edge)
    (expected,) = outputs(file, inputs)
    (same,) = outputs(again(edge, "xnnpack"), inputs)
    np.testing.assert_allclose(same, expected, rtol=0, atol=1e-6 if name in NORMALIZED else 0)
    for backend in ("et-vm", "native"):
        (found,) = outputs(again(edge, backend), inputs)
        # Sums that are next to the middle between two steps are rounded either way.
        assert np.abs(found - expected).max() <= steps(edge) * 1.001


def by_range(build: Callable[[], nn.Module], *sizes: int, **how: Any) -> Callable[[], Program]:
    def make() -> Program:
        inputs = (torch.randn(sizes),)
        return calibrated(build(), inputs, dynamic=True, **how), inputs

    return make


def by_row(group: int, *sizes: int) -> Callable[[], Program]:
    return lambda: (in_blocks(Perceptron(), group), (torch.randn(sizes),))


DYNAMIC: dict[str, Callable[[], Program]] = {
    "perceptron": by_range(Perceptron, 3, 64),
    "perceptron, 4 bits": by_range(Perceptron, 3, 64, weights=(-8, 7)),
    "perceptron, groups": by_row(32, 3, 64),
    "batch, groups": by_row(32, 2, 3, 64),
    "one row, groups": by_row(32, 1, 64),
    "image": by_range(lambda: nn.Conv2d(3, 8, 3, padding=1), 1, 3, 9, 11),
    "images": by_range(lambda: nn.Conv2d(3, 8, 3, padding=1), 2, 3, 9, 11),
}
"""Activations that are quantized while the program runs."""


@pytest.mark.sweep
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic_quantization(name: str, compiler: str) -> None:
    torch.manual_seed(0)
    module, inputs = DYNAMIC[name]()
    file = compiled(torch.export.export(module, inputs), compiler)
    edge = raise_program(file)
    assert "backend.call" not in names(edge)
    (expected,) = outputs(file, inputs)
    for backend in ("xnnpack", "et-vm", "native"):
        delegated = again(edge, backend)
        (found,) = outputs(delegated, inputs)
        if backend == "xnnpack" and name != "images":
            np.testing.assert_array_equal(found, expected)
        # The zero points of rows differ where torchao and XNNPACK choose other ends of the range.
        assert np.abs(found - expected).max() <= 0.01 * np.abs(expected).max()


class Block(nn.Module):
    """Attention and a perceptron, over a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (layer(x).unflatten(-1, (2, 8)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2)) + x


def rows(most: int) -> Any:
    return torch.export.Dim("rows", min=2, max=most)


class Tokens(nn.Module):
    """Attention over embeddings of a sequence whose length only its indices tell."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.block = nn.Embedding(10, 16), Block()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        q, k, v = self.block.q(x), self.block.k(x), self.block.v(x)
        heads = (one.view(*tokens.shape, 2, 8).transpose(1, 2) for one in (q, k, v))
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        return x + self.block.out(mixed.transpose(1, 2).reshape(*tokens.shape, 16))


XNNPACK = b"XnnpackBackend"
Sized = tuple[Callable[[], nn.Module], Callable[[int], tuple[torch.Tensor, ...]], Any]
SIZED: dict[str, Sized] = {
    "perceptron": (Perceptron, lambda n: (torch.randn(n, 64),), ({0: rows(8)},)),
    "perceptron of batches": (Perceptron, lambda n: (torch.randn(2, n, 64),), ({1: rows(8)},)),
    "images": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        lambda n: (torch.randn(n, 3, 9, 9),),
        ({0: rows(8)},),
    ),
    "sizes of images": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        lambda n: (torch.randn(1, 3, 2 * n, 8),),
        ({2: 2 * rows(8)},),
    ),
    "block": (Block, lambda n: (torch.randn(1, n, 16),), ({1: rows(8)},)),
    "tokens": (Tokens, lambda n: (torch.arange(n)[None] % 10,), ({1: rows(8)},)),
    "sum": (
        lambda: Calls(lambda x, y: torch.cat([x + y, x * 2], 1)),
        lambda n: (torch.randn(n, 3), torch.randn(n, 3)),
        ({0: rows(8)}, {0: rows(8)}),
    ),
}
"""Modules, their inputs for a size, and which dimensions have it."""


@pytest.mark.sweep
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", SIZED)
def test_sizes_known_at_run_time(name: str, compiler: str) -> None:
    torch.manual_seed(0)
    build, inputs, dynamic = SIZED[name]
    module = build().eval()
    shapes = {"inputs": dynamic} if name == "sum" else dynamic
    program = torch.export.export(module, inputs(5), dynamic_shapes=shapes)
    file = compiled(program, compiler)
    edge = raise_program(file)
    assert "backend.call" not in names(edge)
    files = [again(edge, backend) for backend in ("xnnpack", "et-vm", "native")]
    assert XNNPACK in files[0]
    for size in (2, 5, 8):
        given = inputs(size)
        (expected,) = outputs(file, given)
        for one in files:
            (found,) = outputs(one, given)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["conv_transposed_groups", "conv_groups", "linear_3d"])
def test_layers_of_floats(name: str) -> None:
    module, inputs = (IMAGES | MATRICES)[name]()
    file = lowered(module, inputs)
    edge = raise_program(file)
    assert "backend.call" not in names(edge)
    (found,), (expected,) = outputs(again(edge, "et-vm"), inputs), outputs(file, inputs)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_the_command(command: Callable[..., str], tmp_path: Path) -> None:
    """A quantized file of stock through et-compile."""
    module, inputs = made("image")
    file = tmp_path / "stock_int8_xnnpack.pte"
    file.write_bytes(compiled(torch.export.export(calibrated(module, inputs), inputs), "stock"))
    (expected,) = outputs(file.read_bytes(), inputs)
    for backend in ("native", "xnnpack"):
        fast = tmp_path / f"{backend}.pte"
        command("et-compile", file, "--backend", backend, "--target", "et-vm", "-o", fast)
        (found,) = outputs(fast.read_bytes(), inputs)
        assert len(np.unique(np.round((found - expected) / (np.ptp(expected) / 255)))) <= 3
