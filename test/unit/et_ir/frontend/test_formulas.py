"""Formulas of our own for operators, against torch's kernels."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.programs import run
from torch import Tensor, nn
from torch.nn import functional

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.frontend import import_program
from et_ir.frontend.formulas import (
    embedding_renorm,
    upsample_bicubic2d,
    upsample_bicubic2d_vec,
    upsample_linear_vec,
)


def image(*shape: int) -> Tensor:
    """Bytes, at their limits too, where sums are clamped."""
    bytes_ = torch.randint(0, 256, shape, dtype=torch.uint8)
    return torch.where(torch.rand(shape) < 0.3, (bytes_ > 127).to(torch.uint8) * 255, bytes_)


@pytest.mark.parametrize("align_corners", [False, True])
def test_bytes_in_other_sizes(align_corners: bool) -> None:
    chosen = random.Random(0)
    for _ in range(60):
        given = image(1, chosen.randint(2, 5), chosen.randint(2, 20), chosen.randint(2, 20))
        size = [chosen.randint(2, 30), chosen.randint(2, 30)]
        want = torch.ops.aten.upsample_bicubic2d.vec(given, size, align_corners, None)
        torch.testing.assert_close(upsample_bicubic2d_vec(given, size, align_corners), want, rtol=0, atol=0)


def test_bytes_by_factors() -> None:
    chosen = random.Random(0)
    for _ in range(60):
        given = image(2, 3, chosen.randint(8, 20), chosen.randint(8, 20))
        factors = [chosen.uniform(0.3, 3), chosen.choice([1.05, chosen.uniform(0.3, 3)])]
        want = torch.ops.aten.upsample_bicubic2d.vec(given, None, False, factors)
        torch.testing.assert_close(upsample_bicubic2d_vec(given, None, False, factors), want, rtol=0, atol=0)


def test_other_types_as_torch_says() -> None:
    given = torch.randn(1, 2, 5, 6)
    want = torch.ops.aten.upsample_bicubic2d(given, [7, 9], False)
    torch.testing.assert_close(upsample_bicubic2d(given, [7, 9], False), want)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_linear_interpolation_as_of_kernels(dtype: torch.dtype, align_corners: bool) -> None:
    """Torch's decomposition goes by factors that keep a size, and gives NaN between a number and an infinity."""
    chosen = random.Random(0)
    kernels = {1: torch.ops.aten.upsample_linear1d.vec, 3: torch.ops.aten.upsample_trilinear3d.vec}
    for number in range(30):
        dims = chosen.choice([1, 3])
        given = torch.rand(1, 2, *(chosen.randint(4, 6) for _ in range(dims))).to(dtype)
        if number % 5 == 0 and dims == 1 and not align_corners:
            given[..., 1] = float("inf")
            size, factors = [2 * given.shape[-1]], None
        elif number % 3 == 0:
            size, factors = [chosen.randint(1, 9) for _ in range(dims)], None
        else:
            size, factors = None, [chosen.choice([0.6, 1.1, 1.5, 2.0, 2.3]) for _ in range(dims)]
        want = kernels[dims](given, size, align_corners, factors)
        # Torch's kernels round 16-bit floats after each dimension.
        rtol = 0.03 if dtype == torch.bfloat16 else 1e-5
        got = upsample_linear_vec(given, size, align_corners, factors)
        torch.testing.assert_close(got, want, rtol=rtol, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("factor", [1.25, 1.9])
def test_a_factor_of_a_size_known_at_run_time_only(factor: float) -> None:
    """A small size that the factor keeps stays as it is."""

    class Resized(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return functional.interpolate(x, scale_factor=factor, mode="linear")

    sizes = ({2: torch.export.Dim("n", min=2, max=20)},)
    program = torch.export.export(Resized(), (torch.randn(1, 2, 9),), dynamic_shapes=sizes, strict=False)
    file = to_edge(program).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    for size in (2, 3, 9, 17):
        x = torch.randn(1, 2, size)
        torch.testing.assert_close(run(file, x)[0], Resized()(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("norm", [1.0, 2.0, 3.5, float("inf")])
def test_rows_of_limited_norm(dtype: torch.dtype, norm: float) -> None:
    weight = torch.randn(6, 4).to(dtype)
    indices = torch.tensor([[0, 3], [3, 5]], dtype=torch.int32)
    want = torch.embedding_renorm_(weight.clone(), indices, 0.8, norm)
    torch.testing.assert_close(embedding_renorm(weight, indices, 0.8, norm), want)


class Table(nn.Module):
    def __init__(self, *, trained: bool) -> None:
        super().__init__()
        weight = torch.randn(5, 3)
        if trained:
            self.weight = nn.Parameter(weight)
        else:
            self.register_buffer("weight", weight)

    def forward(self, indices: Tensor) -> Any:
        return functional.embedding(indices, self.weight, max_norm=0.5)


@pytest.mark.parametrize("trained", [False, True])
def test_a_table_keeps_its_limited_rows(trained: bool) -> None:
    net = Table(trained=trained)
    indices = torch.tensor([0, 2])
    with torch.no_grad():
        interpreter = Interpreter(import_program(torch.export.export(net, (indices,), strict=False)))
        (got,) = interpreter.run(indices)
        torch.testing.assert_close(got, net(indices))
        torch.testing.assert_close(interpreter.symbols["weight"], net.weight.detach())


def test_a_table_that_is_an_input_is_written() -> None:
    class Given(nn.Module):
        def forward(self, indices: Tensor, weight: Tensor) -> Tensor:
            return functional.embedding(indices, weight, max_norm=0.5)

    indices, weight = torch.tensor([0, 2]), torch.randn(5, 3)
    module = import_program(torch.export.export(Given(), (indices, weight.clone()), strict=False))
    interpreter = Interpreter(module)
    (got,) = interpreter.run(indices, weight)
    torch.testing.assert_close(got, Given()(indices, weight))
    torch.testing.assert_close(interpreter.overwritten[1], weight)
