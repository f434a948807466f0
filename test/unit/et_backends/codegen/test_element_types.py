"""Element types of the native backend against torch: masks, integers, conversions, and what mixes them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from math import inf, nan
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor

import numpy as np
import pytest
import torch
from native_modules import SETS, as_module, check, compiled, run

from et_schema.errors import Error, ExecutorchError
from et_vm.runtime import Runtime

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64]
TYPES = [torch.float32, torch.bool, torch.uint8, *INTEGERS]
LENGTHS = [1, 15, 64, 67, 200]


def numbers(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    """Elements of all kinds: bools, integers with the extremes, floats with NaN and infinities."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if dtype.is_floating_point:
        made = torch.randn(shape, generator=generator) * 4
        special = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.0]
    else:
        made = torch.randint(0 if dtype == torch.uint8 else -9, 9, shape, generator=generator, dtype=dtype)
        special = [torch.iinfo(dtype).min, torch.iinfo(dtype).max, 0, 1, 2, 5]
    flat = made.reshape(-1)
    count = min(len(special), flat.numel() // 8)
    flat[:count] = torch.tensor(special[:count], dtype=dtype)
    return flat[torch.randperm(flat.numel(), generator=generator)].reshape(shape)


def exact(function: Callable[..., torch.Tensor], *arguments: torch.Tensor) -> None:
    check(function, *arguments, exact=True)


@pytest.mark.sweep
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_comparisons(dtype: torch.dtype, length: int):
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        made = [compare(x, y) for compare in (eq, ne, lt, le, gt, ge)]
        return torch.stack([*made, *(compare(x, 1) for compare in (eq, ne, lt, le, gt, ge))])

    exact(function, numbers(dtype, length), numbers(dtype, length, seed=1))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_comparisons_of_integers_with_fractions(dtype: torch.dtype):
    exact(lambda x: (x > 1.5) | (x < -0.5), torch.arange(-20, 20, dtype=dtype))


@pytest.mark.sweep
@pytest.mark.parametrize(("source", "target"), list(permutations(TYPES, 2)), ids=str)
def test_conversions(source: torch.dtype, target: torch.dtype):
    # Of floats those that all types have.
    x = torch.linspace(0, 127, 77) if source == torch.float32 else numbers(source, 77)
    exact(lambda x: x.to(target), x)


@pytest.mark.parametrize("length", [1, 67])
def test_doubles(length: int):
    """Basic arithmetic, comparisons, conversions and moves, with nothing left to the runtime."""

    def function(x: torch.Tensor, y: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        z = x.double() / 3 + y
        less = torch.where((z < y) | (y == 0.1), -z, z.abs().sqrt() * 0.7)
        moved = torch.cat([less.reshape(-1, 1), (i.double() - 0.5 * less)[:, None]], 1).transpose(0, 1)
        return moved.flip(0)[:, : x.shape[0]] - torch.full_like(y, 0.3)

    torch.manual_seed(0)
    x, y, i = torch.randn(length), torch.randn(length).double(), torch.randint(-9, 9, (length,))
    y[0] = 0.1
    for module in (function, lambda *given: function(*given).float()):
        near(module, x, y, i)


def test_doubles_in_kernels_of_floats():
    """What converts them is computed with a product, a sum or a convolution."""
    linear, convolution = torch.nn.Linear(9, 20), torch.nn.Conv2d(2, 5, 3)

    class Mixed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.convolution = linear, convolution

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            rows = self.linear((x / 3).float()).double() * 0.5
            shares = torch.softmax((x * 2).float(), -1).double().neg()
            image = self.convolution((y + 1).float()).double() * 3
            return torch.cat([rows.reshape(-1), shares.reshape(-1), image.reshape(-1)])

    torch.manual_seed(0)
    with torch.no_grad():
        near(Mixed(), torch.randn(6, 9).double(), torch.randn(1, 2, 7, 6).double(), tolerance=1e-5)


def near(module: Callable[..., torch.Tensor], *inputs: torch.Tensor, tolerance: float = 1e-14) -> None:
    """Compare with torch in the precision of f64; a product and a sum may be rounded once."""
    found = torch.from_numpy(run(compiled(as_module(module), inputs, SETS[0]), inputs))
    torch.testing.assert_close(
        found, module(*inputs), rtol=max(tolerance, torch.finfo(found.dtype).eps), atol=tolerance
    )


@pytest.mark.parametrize("target", [one for one in TYPES if not one.is_floating_point], ids=str)
def test_conversion_of_floats_out_of_range(target: torch.dtype):
    """The least integer, of 32 bits for narrower types, as processors of x86 convert, and torch on these."""
    x = torch.tensor([nan, inf, -inf, 3e9, -3e9, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63), 1e30, -300.7, 7e4])
    exact(lambda x: x.repeat(5).to(target), x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16], ids=str)
def test_numbers_out_of_range(dtype: torch.dtype):
    """A number is one of the tensor's type: it wraps around."""
    x = numbers(dtype, 77)
    exact(lambda x: torch.stack([x < 70000, x == 300, x >= -1, x > 256]), x)
    exact(lambda x: torch.stack([x + 70000, x * 300, 300 - x, x << 257, x >> 257, x >> -1, x & 511]), x)


@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_over_no_dimensions(keepdim: bool):
    """`any` and `all` reduce none then, where others reduce all."""
    exact(lambda x: x.any(dim=(), keepdim=keepdim) ^ (x > 0).all(dim=(), keepdim=keepdim), torch.ones(3, 21))


@pytest.mark.parametrize(("low", "high"), [(nan, None), (None, nan), (nan, 1.0), (0.0, nan), (inf, -inf)])
def test_clamping(low: float | None, high: float | None):
    """A bound that is a NaN makes one of everything."""
    exact(lambda x: x.clamp(low, high), torch.tensor([nan, inf, -inf, 0.0, -0.0, 2.5]).repeat(7))


@pytest.mark.sweep
@pytest.mark.parametrize("length", LENGTHS)
def test_logic(length: int):
    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return torch.stack(
            [
                x & y,
                x | y,
                x ^ y,
                ~x,
                x.logical_xor(z),
                z.logical_not(),
                x.logical_or(z),
                x.logical_and(z),
                x + y,
            ]
        )

    x, y = numbers(torch.bool, length), numbers(torch.bool, length, seed=1)
    exact(function, x, y, numbers(torch.float32, length))


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [torch.uint8, *INTEGERS], ids=str)
def test_bits(dtype: torch.dtype):
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.stack([x & y, x | y, x ^ y, ~x, x & 12])

    exact(function, numbers(dtype, 67), numbers(dtype, 67, seed=1))


@pytest.mark.sweep
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.uint8, *INTEGERS], ids=str)
def test_wraparound(dtype: torch.dtype, length: int):
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        made = [add(x, y), sub(x, y), mul(x, y), torch.add(x, y, alpha=3), x * 3 + 2, 5 - x, -x, x**3]
        made += [torch.maximum(x, y), torch.minimum(x, y), x.clamp(2, 5), x.abs()]
        return torch.stack(made)

    exact(function, numbers(dtype, length), numbers(dtype, length, seed=1))


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [torch.uint8, *INTEGERS], ids=str)
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_division(dtype: torch.dtype, mode: str):
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        made = [torch.div(x, y, rounding_mode=mode), torch.div(x, 3, rounding_mode=mode), x % y, x % 7]
        return torch.stack([*made, torch.fmod(x, y), torch.fmod(x, 4)])

    y = numbers(dtype, 67, seed=1)
    y[y == 0] = 3
    # Of the least integer by -1 torch says nothing.
    x = numbers(dtype, 67)
    x[(y.long() == -1) & (x == torch.iinfo(dtype).min)] = 2
    exact(function, x, y)


def test_true_division_of_integers():
    exact(lambda x, y: x / y + x / 3, torch.arange(-40, 40), torch.arange(1, 81))


def test_floats_of_integers():
    check(lambda x: torch.sin(x) + torch.sqrt(x.abs()) + x * 0.5, torch.arange(-40, 40, dtype=torch.int32))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SETS)
def test_division_by_zero(name: str, threads: int):
    x, y = torch.arange(70), torch.ones(70, dtype=torch.int64)
    file = compiled(as_module(lambda x, y: x // y), (x, y), name)
    method = Runtime(threads=threads).load_program(file, allow_native=True).load_method("forward")
    assert np.array_equal(method.execute([x.numpy(), y.numpy()])[0], x)
    y[69] = 0
    with pytest.raises(ExecutorchError, match=r"aten::div\.Tensor_mode: integer division by zero") as caught:
        method.execute([x.numpy(), y.numpy()])
    assert caught.value.code == Error.InvalidArgument
    y[69] = 2
    assert method.execute([x.numpy(), y.numpy()])[0][69] == 34


def test_broadcast_masks():
    def function(x: torch.Tensor, mask: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        return torch.where(mask & column, x, torch.where(mask, -x, 7.0))

    exact(function, numbers(torch.float32, 5, 33), numbers(torch.bool, 33), numbers(torch.bool, 5, 1))


def test_masks_of_rank_0():
    exact(lambda x, y: torch.where(x > y, x, y) * (x != 1), torch.tensor(2.0), torch.tensor(3.0))


def test_mask_that_two_kernels_read():
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        mask = x > 0
        y = torch.where(mask, x, 0.0) @ w
        return y.masked_fill(mask, -1.0) + mask

    check(function, torch.randn(20, 20), torch.randn(20, 20))


def test_mask_after_rows_and_products():
    def function(x: torch.Tensor, w: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        scores = torch.softmax(torch.where(keep, x @ w, -torch.inf), -1)
        return (scores > 0.1) & keep

    keep = numbers(torch.bool, 20, 20)
    keep[:, 0] = True
    exact(function, torch.randn(20, 20), torch.randn(20, 20), keep)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16, torch.int64], ids=str)
def test_moves(dtype: torch.dtype):
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        joined = torch.cat([x, y[:, 1:7]], 1).permute(1, 0).contiguous()
        return joined.reshape(-1, 2)[::1, 1].clone()

    exact(function, numbers(dtype, 6, 33), numbers(dtype, 6, 40))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, *INTEGERS], ids=str)
def test_selection(dtype: torch.dtype):
    exact(torch.where, numbers(torch.bool, 67), numbers(dtype, 67), numbers(dtype, 67, seed=2))


@pytest.mark.sweep
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), None], ids=str)
@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.float32], ids=str)
def test_any_and_all(dtype: torch.dtype, dims: tuple[int, ...] | None):
    for shape in ((3, 5, 67), (2, 70, 1)):
        x = numbers(dtype, *shape)
        exact(lambda x: torch.any(x, dims), x & (torch.rand(shape) > 0.9) if dtype == torch.bool else x)
        exact(lambda x: torch.all(x, dims, keepdim=dims is not None), x)


def test_any_of_a_comparison():
    exact(lambda x: (x > 2.5).any(-1) & (x < 9).all(-1), numbers(torch.float32, 40, 33))


@pytest.mark.sweep
@pytest.mark.parametrize("dim", [0, 1, 2, (0, 2)], ids=str)
@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int32, torch.int64], ids=str)
def test_reductions(dtype: torch.dtype, dim: int | tuple[int, ...]):
    x = numbers(dtype, 3, 5, 67)
    exact(lambda x: x.sum(dim), x)
    if dtype != torch.bool:
        exact(lambda x: torch.stack([x.amax(dim), x.amin(dim)]), x)
    if isinstance(dim, int):
        exact(lambda x: x.prod(dim), x)


@pytest.mark.sweep
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.int64, torch.float32], ids=str)
def test_cumulative(dtype: torch.dtype, dim: int):
    x = numbers(dtype, 3, 5, 37) if dtype != torch.float32 else torch.randn(3, 5, 37)
    check(lambda x: x.cumsum(dim), x)
    check(lambda x: x.cumprod(dim), x)


@pytest.mark.sweep
@pytest.mark.parametrize("dim", [0, 1, 2, None])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32], ids=str)
def test_places_of_extremes(dtype: torch.dtype, dim: int | None):
    x = numbers(dtype, 3, 5, 37)
    exact(lambda x: torch.stack([x.argmax(dim), x.argmin(dim)]), x)
    if dim is not None:
        exact(lambda x: x.max(dim)[0] + x.min(dim)[1], x)
        exact(lambda x: torch.max(x, dim)[1], x)


def test_numbers_that_are_not():
    x = numbers(torch.float32, 67)
    exact(lambda x: torch.isnan(x) | torch.isinf(x), x)
    exact(lambda x: torch.isnan(x) | torch.isinf(x), torch.arange(67))


@pytest.mark.parametrize("combine", [and_, or_, xor])
def test_numbers_of_bools(combine: Callable[..., torch.Tensor]):
    exact(
        lambda x, y: combine(x, y) * 2 + y.float(), numbers(torch.bool, 67), numbers(torch.bool, 67, seed=1)
    )
