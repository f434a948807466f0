"""Operations without instructions, and tensors without elements, on each processor: the results of eager."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program

TARGETS = ["cortex-m0plus", "cortex-m4", "riscv32imac", "riscv64gc", "wasm32"]


class Quotients(nn.Module):
    """Of i64, which processors of 32 bits compute in functions."""

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        truncated = torch.div(a, b, rounding_mode="trunc")
        return a // b, a % b, truncated, torch.fmod(a, b)


class Extremes(nn.Module):
    """Maxima, which a unit of single precision may lack."""

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        return torch.maximum(a, b), torch.minimum(a, b), torch.clamp(a, -0.5, 0.5), torch.fmax(a, b)


class Empty(nn.Module):
    """Inputs, results and state without elements, and what is computed of them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(0, 3))

    def forward(self, x: Tensor, nothing: Tensor) -> tuple[Tensor, ...]:
        rest = x[4:]
        self.seen.add_(1)
        product = nothing @ rest[:, :2]
        return rest.exp().sum(0), torch.cat([x, rest * 2]), rest, product, x + self.seen.sum(), nothing.any(1)


def check(module: nn.Module, target: str, folder: Path, *inputs: Tensor) -> None:
    with torch.no_grad():
        made = compile_program(torch.export.export(module.eval(), inputs), target, "net")
        assert not made.state
        found = machines.run(target, folder, made, [one.numpy() for one in inputs])
        expected = module(*inputs)
    assert found.status == 0
    assert found.stack <= made.stack_bytes
    for one, other in zip(found.outputs, expected, strict=True):
        np.testing.assert_array_equal(one, other.numpy(), strict=True)


@pytest.mark.parametrize("target", TARGETS)
def test_quotients(target: str, tmp_path: Path):
    some = [1, 3, 2**31, 2**32 - 1, 2**32 + 1, 2**53 + 1, 2**63 - 1]
    numbers = torch.tensor([*some, *(-one for one in some), 0, -(2**63) + 2])
    dividends = numbers.repeat_interleave(len(some) * 2)
    divisors = torch.tensor([*some, *(-one for one in some)]).repeat(len(numbers))
    check(Quotients(), target, tmp_path, dividends, divisors)


@pytest.mark.parametrize("target", [*TARGETS, "x86-64"])
def test_division_by_zero_and_overflow(target: str, tmp_path: Path):
    """A divisor of 0 is reported, the least number by -1 wraps around: no processor stops. Eager stops at both."""
    a = torch.tensor([5, -5, -(2**63), -(2**63)])
    inputs = a, torch.tensor([1, -1, 1, 1])
    made = compile_program(torch.export.export(Quotients(), inputs), target, "net")
    found = machines.run(target, tmp_path, made, [a.numpy(), np.array([1, 0, 2, 0])])
    assert found.status != 0
    found = machines.run(target, tmp_path, made, [a.numpy(), np.array([-1, -1, -1, 1])])
    assert found.status == 0
    assert [one.tolist() for one in found.outputs] == [[-5, 5, -(2**63), -(2**63)], [0] * 4] * 2


@pytest.mark.parametrize("target", TARGETS)
def test_extremes(target: str, tmp_path: Path):
    some = torch.tensor([0.25, -0.25, 1.5, -1.5, torch.inf, -torch.inf, torch.nan])
    check(Extremes(), target, tmp_path, some.repeat_interleave(7), some.repeat(7))


@pytest.mark.parametrize("target", TARGETS)
def test_no_elements(target: str, tmp_path: Path):
    check(Empty(), target, tmp_path, torch.arange(12.0).reshape(4, 3), torch.zeros(5, 0))


class EmptyState(nn.Module):
    """State without elements that nothing but its update uses."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(0, 3))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        self.seen.copy_(x[4:])
        return (x + 1,)


def test_updates_of_no_elements(tmp_path: Path):
    check(EmptyState(), "cortex-m4", tmp_path, torch.arange(12.0).reshape(4, 3))
