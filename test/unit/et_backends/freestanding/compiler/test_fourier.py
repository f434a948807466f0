"""Fourier transforms without a runtime: of each size, along each dimension, and in front of a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import freestanding_machines as machines
import pytest
import torch
from support.accuracy import assert_accurate
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import FreestandingObject, compile_program
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram

TARGET = "cortex-m4"


class Call(nn.Module):
    """A function of real tensors."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def checked(
    module: nn.Module, x: Tensor, folder: Path, terms: int
) -> tuple[FreestandingObject, machines.Run]:
    """The object and its run, whose results are those of eager in double precision, but for so many roundings."""
    with torch.no_grad():
        made = compile_program(torch.export.export(module.eval(), (x,)), TARGET, "net")
        truth = module.double()(x.double())
    ran = machines.run(TARGET, folder, made, [x.numpy()])
    assert ran.status == 0
    assert ran.stack <= made.stack_bytes
    assert_accurate(torch.from_numpy(ran.outputs[0].copy()), truth, terms)
    return made, ran


def real(x: Tensor) -> Tensor:
    return torch.view_as_real(x)


def spectrum(size: int) -> Tensor:
    """The parts of two rows of complex numbers."""
    torch.manual_seed(size)
    return torch.randn(2, size, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 16, 17, 20, 37, 64, 100, 256, 289, 400])
def test_sizes(size: int, tmp_path: Path) -> None:
    torch.manual_seed(size)
    checked(Call(lambda x: real(torch.fft.rfft(x))), torch.randn(2, size), tmp_path, size)


def test_cost(tmp_path: Path) -> None:
    """Stages of sixteen: the product with the matrix of 256 elements alone would be 66,048 multiply-adds."""
    torch.manual_seed(0)
    made, ran = checked(Call(lambda x: real(torch.fft.rfft(x))), torch.randn(1, 256), tmp_path, 256)
    assert ran.instructions < 90_000
    assert made.constant_bytes < 6 << 10


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], Tensor]] = {
    "whole": (
        lambda x: real(torch.fft.fft(x)),
        torch.randn(2, 12, generator=torch.Generator().manual_seed(1)),
    ),
    "complex": (lambda x: real(torch.fft.fft(torch.view_as_complex(x))), spectrum(18)),
    "inverse": (lambda x: real(torch.fft.ifft(torch.view_as_complex(x))), spectrum(40)),
    "orthonormal": (lambda x: real(torch.fft.fft(torch.view_as_complex(x), norm="ortho")), spectrum(18)),
    "inverse of half, even": (lambda x: torch.fft.irfft(torch.view_as_complex(x)), spectrum(17)),
    "inverse of half, odd": (lambda x: torch.fft.irfft(torch.view_as_complex(x), 33), spectrum(17)),
    "first dimension": (lambda x: real(torch.fft.rfft(x, dim=0)), spectrum(9)[..., 0].T.contiguous()),
    "two dimensions": (lambda x: real(torch.fft.rfft2(x, norm="forward")), spectrum(20)),
    "inverse of two dimensions": (lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * (2 - 3j)), spectrum(6)),
    "magnitude": (lambda x: torch.fft.rfft(x).abs(), spectrum(32)[..., 1].contiguous()),
    "filter": (
        lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x.flip(1))),
        spectrum(24)[..., 0].contiguous(),
    ),
}


@pytest.mark.parametrize(("function", "x"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(function: Callable[[Tensor], Tensor], x: Tensor, tmp_path: Path) -> None:
    checked(Call(function), x, tmp_path, 4 * x.numel())


class Cepstrum(nn.Module):
    """Mel-frequency cepstral coefficients of a signal, as keyword spotters take them."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.register_buffer("window", torch.hann_window(128))
        self.register_buffer("mel", torch.rand(65, 10, generator=generator))
        self.register_buffer("cosines", torch.randn(10, 5, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        spectra = torch.stft(x, 128, 64, window=self.window, center=False, return_complex=True)
        power = spectra.real.square() + spectra.imag.square()
        return torch.log(power.transpose(1, 2) @ self.mel + 1e-3) @ self.cosines


def test_cepstrum(tmp_path: Path) -> None:
    torch.manual_seed(0)
    made, _ = checked(Cepstrum(), torch.randn(1, 512), tmp_path, 512)
    # The matrix of the whole transform alone would take 65 kB.
    assert made.constant_bytes < 8 << 10


@pytest.mark.parametrize(
    ("function", "shape", "message", "fix"),
    [
        (
            torch.fft.rfft,
            (8,),
            "output 0 of @forward: it has complex numbers",
            "return torch.view_as_real of it",
        ),
        (
            lambda x: torch.fft.rfft(x).log().abs(),
            (8,),
            "'edge.log': needs a runtime",
            "of complex numbers, return torch.view_as_real",
        ),
    ],
    ids=["output", "function"],
)
def test_refused(
    function: Callable[[Tensor], Tensor], shape: tuple[int, ...], message: str, fix: str
) -> None:
    with pytest.raises(UnsupportedProgram) as caught:
        compile_program(torch.export.export(Call(function), (torch.zeros(shape),)), TARGET, "net")
    (only,) = caught.value.diagnostics
    assert message in str(only)
    assert fix in only.fix


def test_complex_input() -> None:
    program = torch.export.export(Call(torch.view_as_real), (torch.zeros(4, dtype=torch.complex64),))
    with pytest.raises(UnsupportedProgram, match='input "x" of @forward: it has complex numbers'):
        compile_program(program, TARGET, "net")
