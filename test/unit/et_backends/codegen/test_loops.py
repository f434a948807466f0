"""Loops over the slices of tensors, as kernels that call others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.native_modules import SETS, as_module, compiled
from torch import Tensor
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan

from et_backends.native.compiler import NativePartitioner
from et_ir.delegation.partitioning import partition_module
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.control import ScanOp
from et_ir.driver.managers import to_edge
from et_vm.runtime import Runtime

STEPS = 11


def _random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


WEIGHT = _random(6, 6) * 0.3


def swapped(a: Tensor, b: Tensor, xs: Tensor) -> Any:
    """Two states that become each other."""
    return scan(lambda s, x: ((s[1] + x, s[0] * 1), s[0] - s[1]), (a, b), xs)


def exchanged(a: Tensor, b: Tensor, xs: Tensor) -> Any:
    """States that are copied only, one over the other."""
    return scan(lambda s, x: ((s[1].clone(), s[0].clone()), s[0] - x), (a, b), xs)


def state_as_item(a: Tensor, weight: Tensor, xs: Tensor) -> Any:
    """A state before a turn, and one after it, as items."""
    return scan(lambda s, x: (torch.tanh(s @ weight + x), (s * 1, s * x)), a, xs)


def slice_as_item(a: Tensor, xs: Tensor) -> Any:
    return scan(lambda s, x: (s + x.sum(), x.clone()), a, xs)


def rows(a: Tensor, xs: Tensor) -> Any:
    """Reductions and selections in a turn."""
    return scan(lambda s, x: (torch.softmax(s + x, -1), torch.cat([s[:, :2], x[:, 3:]], 1)), a, xs)


def one_row(a: Tensor, b: Tensor, w: Tensor, xs: Tensor) -> Any:
    """Parts of one row of a product are views; those of states, which are overwritten, and joined ones are not."""

    def step(s: Any, x: Tensor) -> Any:
        one, other = s
        product = torch.cat([one, other], 1) @ w + x
        joined = torch.cat([product[:, 7:], product[:, :7]], 1)
        return (other[:, :6] * 1, torch.tanh(product[:, 33:39])), torch.cat([joined, one[:, 2:]], 1)

    return scan(step, (a, b), xs)


def two_loops(a: Tensor, xs: Tensor) -> Any:
    """A loop over the items of another, with a value from between them in its body."""
    last, items = scan(lambda s, x: (s * 0.5 + x, s + x), a, xs)
    scale = last.exp()
    return scan(lambda s, x: (s + x * scale, s * x), last * 2, torch.flip(items, [0]))


def mapped(xs: Tensor, shift: Tensor) -> Any:
    return map_(lambda x, shift: torch.relu(x @ WEIGHT) + shift, xs, shift)


A, B, XS = _random(2, 6), _random(2, 6) + 1, _random(STEPS, 2, 6)
CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "swapped": (swapped, (A, B, XS)),
    "exchanged": (exchanged, (A, B, XS)),
    "state_as_item": (state_as_item, (A, WEIGHT, XS)),
    "slice_as_item": (slice_as_item, (A, XS)),
    "rows": (rows, (A, XS)),
    "one_row": (one_row, (A[:1], B[:1], _random(12, 40) * 0.3, _random(STEPS, 1, 40))),
    "two_loops": (two_loops, (A, XS)),
    "mapped": (mapped, (XS, A)),
}


@pytest.mark.parametrize("name", CASES)
def test_loops(name: str) -> None:
    """One partition has all of the program; its bits do not depend on the number of threads."""
    function, inputs = CASES[name]
    module = as_module(function)
    file = compiled(module, inputs, SETS[0])
    found: list[list[Any]] = []
    for threads in (1, 3):
        program = Runtime(threads=threads).load_program(file, allow_native=True, poison=True)
        method = program.load_method("forward")
        found.append([np.array(one.numpy()) for one in method.execute(inputs)])
    expected = torch.utils._pytree.tree_leaves(module(*inputs))
    for one, other, wanted in zip(*found, expected, strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(one, other)


def partitions(function: Callable[..., Any], *inputs: Tensor) -> list[str]:
    """The ops that hold the loops of a function once it is partitioned."""
    module = to_edge(torch.export.export(as_module(function), inputs)).module.clone()
    partition_module(module, [NativePartitioner(instruction_sets=[SETS[0]])])
    loops = [op for op in module.walk() if isinstance(op, ScanOp)]
    return [op.parent_op().name for op in loops]  # pyright: ignore[reportOptionalMemberAccess]


def test_loops_are_in_partitions() -> None:
    assert partitions(two_loops, A, XS) == [PartitionOp.name] * 2


def test_loops_that_are_not_taken() -> None:
    """Loops of more than the kernels that they may call, whose bodies have partitions then."""

    def with_loop(a: Tensor, xs: Tensor) -> Any:
        def step(s: Tensor, x: Tensor) -> Any:
            s, ys = scan(lambda h, row: (h + row, h * row), s, x)
            return s, ys.sum(0)

        return scan(step, a, xs)

    def with_sort(a: Tensor, xs: Tensor) -> Any:
        return scan(lambda s, x: (s + x, torch.sort(x, -1)[0]), a, xs)

    assert partitions(with_loop, A[0], XS) == ["func.func", PartitionOp.name]
    assert partitions(with_sort, A, XS) == ["func.func"]
