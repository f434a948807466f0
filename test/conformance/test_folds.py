"""Bitwise correctness and residual kernels of folding.

Small programs show what folds and what does not, by the kernels that are left of them.

Inputs have infinities, both zeros and NaN: a rewrite that is right for numbers only would show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_ir.dialects.executorch import KernelCallOp
from et_vm.runtime import Runtime

Function = Callable[[Tensor], Tensor]

INFINITY = float("inf")
SPECIAL = torch.tensor([0.0, -0.0, INFINITY, -INFINITY, float("nan"), 1.5, -2.5, 1e-40])
X = torch.cat([SPECIAL, torch.linspace(-3.0, 3.0, 16)]).reshape(4, 6)
IMAGE = torch.cat([SPECIAL, torch.linspace(-3.0, 3.0, 184)]).reshape(1, 3, 8, 8)
LAST = torch.channels_last
INTEGERS = torch.tensor([-(2**63), 2**63 - 1, 0, 1, -1, 7], dtype=torch.int64)

GONE: dict[str, Function] = {
    "times one": lambda x: x * 1,
    "times ones": lambda x: x * torch.ones(6),
    "plus minus zero": lambda x: x + (-0.0),
    "minus zero": lambda x: x - 0,
    "by one": lambda x: x / 1,
    "to the power of one": lambda x: x**1,
    "negated twice": lambda x: x.neg().neg(),
    "dropout": lambda x: functional.dropout(x, 0.5, training=False),
    "cloned": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "of its type": lambda x: x.to(torch.float32, copy=True),
    "wider and back": lambda x: x.to(torch.float64).to(torch.float32),
    "transposed twice": lambda x: x.t().t(),
    "turned, computed, turned back": lambda x: (-x.t() * 2).t() * -0.5,
    "views": lambda x: x.view(24).view(2, 12).unsqueeze(0).squeeze(0).view(4, 6),
    "expanded to its size": lambda x: x.expand(4, 6),
    "repeated once": lambda x: x.repeat(1, 1),
    "a concatenation of one": lambda x: torch.cat([x]),
    "with nothing": lambda x: torch.cat([x, torch.zeros(0, 6)]),
    "chunks put together": lambda x: torch.cat(x.chunk(3, 1), 1),
    "slices put together": lambda x: torch.cat([x[:1], x[1:3], x[3:]]),
    "a slice of everything": lambda x: x[:, 0:],
    "padded by nothing": lambda x: functional.pad(x, (0, 0)),
    "flipped twice": lambda x: x.flip(0).flip(0),
    "all rows": lambda x: x.index_select(0, torch.arange(4)),
    "the larger of itself": lambda x: torch.maximum(x, x),
    "the largest of one": lambda x: x.unsqueeze(1).amax(1),
    "the same where anyway": lambda x: torch.where(x > 0, x, x),
    "kept below its size": lambda x: x.tril(5),
}
"""Functions that give back what they are given, of a matrix of 4 by 6."""

OF_IMAGES: dict[str, Function] = {
    "channels last and back": lambda x: x.to(memory_format=LAST).contiguous(),
    "turned and back": lambda x: x.permute(0, 2, 3, 1).permute(0, 3, 1, 2),
    "a bias of channels, turned": lambda x: (x.permute(0, 2, 3, 1) * torch.ones(3)).permute(0, 3, 1, 2),
    "pooled by one": lambda x: functional.max_pool2d(x, 1),
    "resized to its size": lambda x: functional.interpolate(x, size=(8, 8)),
    "resized to its size by a factor": lambda x: functional.interpolate(x, scale_factor=1.1),
    "shuffled and back": lambda x: functional.pixel_shuffle(functional.pixel_unshuffle(x, 2), 2),
}

STAYS: dict[str, tuple[Function, Tensor, str]] = {
    "minus zero becomes zero": (lambda x: x + 0, X, "add"),
    "and of ones of another type": (lambda x: x + torch.zeros(6), X, "add"),
    "one for each of more": (lambda x: x * torch.ones(2, 4, 6), X, "mul"),
    "no number minus itself": (lambda x: x - x, X, "sub"),
    "no number times nothing": (lambda x: x * 0, X, "mul"),
    "narrower and back": (lambda x: x.to(torch.float16).to(torch.float32), X, "_to_dim_order_copy"),
    "a sum of one": (lambda x: x.unsqueeze(1).sum(1), X, "sum"),
    "a mean of one": (lambda x: x.unsqueeze(1).mean(1), X, "mean"),
    "a product with the unit matrix": (lambda x: x @ torch.eye(6), X, "mm"),
    "rounded by one": (lambda x: torch.div(x, 1, rounding_mode="floor"), X, "div"),
    "an integer by one is none": (lambda x: x / 1, INTEGERS, "div"),
    "the smallest integer": (lambda x: torch.relu(x.abs()), INTEGERS, "relu"),
    "truth of numbers": (lambda x: torch.logical_and(x, x).to(torch.float32), X, "logical_and"),
    "pieces in another order": (lambda x: torch.cat([x[2:], x[:2]]), X, "cat"),
}
"""Functions that change something, of what, and a kernel that stays."""


class Between(nn.Module):
    """A function between two products that are exact: what a method is given and returns has memory of its own."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x * 2) * 4


def kernels_and_result(function: Function, x: Tensor, level: str = "1") -> tuple[list[str], Tensor]:
    """The kernels that are called, and the result, which is that of eager to the bit and in its memory layout."""
    module = Between(function)
    config = ExecutorchBackendConfig(target="et-vm", level=level)
    edge = to_edge(torch.export.export(module, (x,)), compile_config=EdgeCompileConfig(level=level))
    program = edge.to_executorch(config)
    calls = [op.key for op in program.module.walk() if isinstance(op, KernelCallOp)]
    method: Any = Runtime.get().load_program(program.buffer, poison=True).load_method("forward")
    (found,) = method.execute((x,))
    wanted = module(x)
    assert (found.dtype, found.shape, found.stride()) == (wanted.dtype, wanted.shape, wanted.stride())
    assert torch.equal(found.isnan(), wanted.isnan())
    known = ~wanted.isnan()
    assert torch.equal(found[known], wanted[known])
    assert torch.equal(found[known].signbit(), wanted[known].signbit())
    return calls, found


@pytest.mark.parametrize("name", GONE)
def test_what_changes_nothing_is_gone(name: str) -> None:
    calls, _ = kernels_and_result(GONE[name], X)
    left = [call for call in calls if call != "aten::mul.Scalar_out"]
    assert not [call for call in left if name != "turned, computed, turned back" or "permute" in call]


@pytest.mark.parametrize("name", OF_IMAGES)
def test_what_changes_nothing_of_an_image_is_gone(name: str) -> None:
    calls, _ = kernels_and_result(OF_IMAGES[name], IMAGE)
    assert calls == ["aten::mul.Scalar_out"] * 2


@pytest.mark.parametrize("name", STAYS)
def test_what_changes_something_stays(name: str) -> None:
    function, x, kernel = STAYS[name]
    calls, _ = kernels_and_result(function, x)
    assert any(kernel in call.partition("::")[2] for call in calls), calls


@pytest.mark.parametrize("factor", [1.1, 2.05, 1.5])
def test_sizes_before_factors(factor: float) -> None:
    """To the same size, and to twice that, torch resizes by the sizes; et-vm does too."""
    kernels_and_result(lambda x: functional.interpolate(x, scale_factor=factor), IMAGE, "0")
