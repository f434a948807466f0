"""Complex tensors on the stock runtime, on their parts: torch's results on samples that OpInfo does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from sweep.compare import difference

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.passes.verify.link_check import MissingKernels
from et_ir.targets.lookup import DEFAULT

Function = Callable[..., Any]


@pytest.fixture(scope="module")
def stock() -> Iterator[StockRuntime]:
    with StockRuntime() as runtime:
        yield runtime


class Calls(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def compiled(function: Function, inputs: tuple[torch.Tensor, ...]) -> bytes:
    program = torch.export.export(Calls(function), inputs, strict=False)
    return to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT)).buffer


def check(function: Function, inputs: tuple[torch.Tensor, ...], stock: StockRuntime, path: Path) -> None:
    path.write_bytes(compiled(function, inputs))
    result = function(*inputs)
    results = [value.resolve_conj() for value in (result if isinstance(result, tuple) else (result,))]
    assert difference(stock.run(path, inputs), results) is None


def quadrants(dtype: torch.dtype) -> torch.Tensor:
    """Complex numbers in all quadrants and on the axes, small and large ones, without zero."""
    parts = torch.tensor([-30.0, -1.2, -0.3, 0.0, 1e-3, 0.7, 2.0], dtype=torch.float64)
    real, imag = torch.meshgrid(parts, parts, indexing="ij")
    both = torch.complex(real, imag).flatten()
    return both[both != 0].to(dtype)


FUNCTIONS: dict[str, Function] = {
    name: getattr(torch, name) for name in ("abs", "angle", "exp", "reciprocal", "square")
}


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, dtype: torch.dtype, stock: StockRuntime, tmp_path: Path) -> None:
    x = quadrants(dtype)
    check(
        FUNCTIONS[name],
        (x if name in ("abs", "angle") else x[torch.isfinite(FUNCTIONS[name](x))],),
        stock,
        tmp_path / "f.pte",
    )


def numbers(*shape: int, dtype: torch.dtype = torch.complex64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype)


CASES: dict[str, tuple[Function, tuple[torch.Tensor, ...]]] = {
    "one element": (lambda x: x * x, (numbers(1),)),
    "one element, broadcast": (lambda x, y: x * y, (numbers(3, 4), numbers(1, 1))),
    "large": (torch.abs, (torch.tensor([3e30 + 4e30j, 0j, 1e-30 + 0j, complex("inf") + 1j]),)),
    "quotient of large ones": (lambda x, y: x / y, (numbers(5) * 1e30, numbers(5) * 1e25)),
    "parts that are not finite": (
        torch.view_as_complex,
        (torch.tensor([[float("inf"), -0.0], [-0.0, float("nan")], [float("nan"), -float("inf")]]),),
    ),
    "conversions": (
        lambda x, i, b: (x.to(torch.complex128), x.real.long(), i.to(torch.complex64), b.cfloat()),
        (numbers(3, 4), torch.arange(4), torch.tensor([True, False])),
    ),
    "layouts": (
        lambda x, y: (
            x.to(torch.complex64),
            y.clone(memory_format=torch.channels_last),
        ),
        (
            torch.arange(24).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
            numbers(1, 2, 3, 4),
        ),
    ),
    "nothing": (lambda x: (x + x, x.long(), x.sum()), (numbers(0, 3),)),
    "linear": (torch.nn.functional.linear, (numbers(2, 3), numbers(4, 3), numbers(4))),
    "spectral convolution": (
        lambda x, w: torch.fft.irfft2(
            torch.nn.functional.pad(
                torch.einsum("bixy,ioxy->boxy", torch.fft.rfft2(x)[..., :4, :3], w), (0, 2, 0, 4)
            )
        ),
        (torch.randn(1, 2, 8, 8), numbers(2, 3, 4, 3)),
    ),
    "part written into zeros": (
        lambda x: torch.fft.irfft(
            torch.zeros(2, 5, dtype=torch.complex64).slice_scatter(torch.fft.rfft(x)[:, :3], 1, 0, 3)
        ),
        (torch.randn(2, 8),),
    ),
    "autocorrelation": (
        lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.conj(torch.fft.rfft(x))),
        (torch.randn(3, 8),),
    ),
    "vocoder": (
        lambda m, p: torch.istft(m * torch.exp(1j * p), 16, 4, window=torch.hann_window(16)),
        (torch.rand(1, 9, 12), torch.randn(1, 9, 12)),
    ),
    "attention": (lambda x: torch.softmax((x @ x.mH).abs(), -1), (numbers(2, 4, 3),)),
    "convolution": (torch.nn.functional.conv1d, (numbers(1, 2, 6), numbers(3, 2, 3))),
    "number": (lambda x: torch.exp(-2j * x) + 1j, (torch.randn(5),)),
    "fft": (torch.fft.fft, (numbers(3, 7),)),
    "fft of even length": (torch.fft.fft, (numbers(3, 8, dtype=torch.complex128),)),
    "fft of one": (torch.fft.fft, (numbers(3, 1),)),
    "fft of real": (torch.fft.fft, (torch.randn(3, 5),)),
    "ifft": (torch.fft.ifft, (numbers(7, 3),)),
    "ortho": (lambda x: torch.fft.fft(x, norm="ortho"), (numbers(7),)),
    "fft2": (torch.fft.fft2, (numbers(2, 5, 6),)),
    "fftn": (torch.fft.fftn, (numbers(4, 5, 3),)),
    "ifftn of real": (torch.fft.ifftn, (torch.randn(4, 5, 3),)),
    "hfft2": (torch.fft.hfft2, (numbers(4, 5),)),
    "ihfftn": (torch.fft.ihfftn, (torch.randn(4, 5),)),
    "stft": (
        lambda x: torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True, onesided=False),
        (torch.randn(64),),
    ),
    "round trip": (
        lambda x: torch.istft(
            torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True),
            16,
            4,
            window=torch.hann_window(16),
        ),
        (torch.randn(64),),
    ),
    "rotary embedding": (
        lambda x, f: torch.view_as_real(
            torch.view_as_complex(x.reshape(2, 3, 4, 2)) * torch.polar(torch.ones_like(f), f)
        ).flatten(2),
        (torch.randn(2, 3, 8), torch.randn(3, 4)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    check(*CASES[name], stock, tmp_path / "case.pte")


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + x).to(torch.complex128)


def test_names_what_has_no_rule() -> None:
    """Dynamic sizes: all errors at compile time, with the source line."""
    shapes = {"x": {0: torch.export.Dim("n", max=8)}}
    program = torch.export.export(Twice(), (numbers(3),), dynamic_shapes=shapes)
    with pytest.raises(MissingKernels) as caught:
        to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT))
    assert [finding.message for finding in caught.value.diagnostics] == [
        f"the kernel 'aten::add.out' of '{DEFAULT}' takes no complex<f32> for 'self'",
        f"the kernel 'dim_order_ops::_to_dim_order_copy.out' of '{DEFAULT}' does not convert complex numbers",
    ]
    assert "test_complex_on_stock.py" in str(caught.value)


def test_product_of_any_size(stock: StockRuntime, tmp_path: Path) -> None:
    """The kernel takes a tensor of one element for a number, which run-time sizes may come to."""
    sizes = {0: torch.export.Dim("n", min=0, max=8)}
    program = torch.export.export(
        Calls(torch.mul), (numbers(3), numbers(3)), dynamic_shapes=((sizes, sizes),), strict=False
    )
    path = tmp_path / "product.pte"
    path.write_bytes(to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT)).buffer)
    for size in (0, 1, 2, 8):
        inputs = numbers(size), numbers(size) + 1
        assert difference(stock.run(path, inputs), [torch.mul(*inputs)]) is None


def test_rotary_embedding_of_any_size(stock: StockRuntime, tmp_path: Path) -> None:
    """Products of which only the parts are read have no complex numbers."""

    def rotated(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
        turned = (torch.polar(torch.ones_like(angle), angle) * 1.5)[:, None]
        return torch.view_as_real(torch.view_as_complex(x.reshape(-1, 3, 4, 2)) * turned).flatten(2)

    tokens = torch.export.Dim("tokens", min=1, max=8)
    inputs = torch.randn(5, 3, 8), torch.randn(5, 4)
    program = torch.export.export(
        Calls(rotated), inputs, dynamic_shapes=(({0: tokens}, {0: tokens}),), strict=False
    )
    edge = to_edge(program)
    assert "complex" not in str(edge.module)
    path = tmp_path / "rotary.pte"
    path.write_bytes(edge.to_executorch(ExecutorchBackendConfig(target=DEFAULT)).buffer)
    for count in (1, 5, 8):
        inputs = torch.randn(count, 3, 8), torch.randn(count, 4)
        torch.testing.assert_close(stock.run(path, inputs)[0], rotated(*inputs), rtol=1e-5, atol=1e-6)


def test_random_numbers_are_named() -> None:
    """Dynamic sizes: no parts take the place of complex random numbers."""
    shapes = (({0: torch.export.Dim("n", max=8)},),)
    for draw in (torch.rand_like, lambda x: x.clone().uniform_()):
        program = torch.export.export(Calls(draw), (numbers(3),), dynamic_shapes=shapes, strict=False)
        with pytest.raises(MissingKernels, match="does not draw complex numbers"):
            to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT))


def test_normal_numbers_of_any_size(stock: StockRuntime, tmp_path: Path) -> None:
    """Their parts are drawn as real numbers, and shown as complex ones."""
    shapes = (({0: torch.export.Dim("n", max=4000)},),)
    path = tmp_path / "normal.pte"
    for draw in (torch.randn_like, lambda x: x.clone().normal_()):
        program = torch.export.export(Calls(draw), (numbers(3),), dynamic_shapes=shapes, strict=False)
        to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT)).save(path)
        for count in (4000, 5, 1):
            (found,) = stock.run(path, [numbers(count)])
            assert (found.shape, found.dtype) == ((count,), torch.complex64)
            parts = torch.view_as_real(found).flatten()
            # Two of 8,000 drawn f32 numbers are the same 0.4 times in the mean, 81 of them never.
            assert len(parts.unique()) > 0.99 * 2 * count
            # Each part has half the variance of the whole.
            assert count < 1000 or abs(float(parts.square().mean()) - 0.5) < 0.05
