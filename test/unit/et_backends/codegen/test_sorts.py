"""Sorts of the native backend against torch: order, places, equal elements, NaN, and many elements of few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from support.native_modules import SETS, Function, lowered, sets
from torch import Tensor

from et_backends.native.compiler import NativePartitioner
from et_ir import to_edge_transform_and_lower
from et_vm.runtime import Runtime

_Function = Callable[[Tensor], tuple[Tensor, Tensor]]

TYPES = [torch.float32, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def numbers(dtype: torch.dtype, *shape: int) -> Tensor:
    """Elements with many equal ones, the extremes, and of floats NaN, infinities and both zeros."""
    generator = torch.Generator().manual_seed(0)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if dtype.is_floating_point:
        made = torch.randint(-9, 9, shape, generator=generator).to(dtype) / 4
        nan = float("nan")
        special = torch.tensor(
            [nan, float("inf"), -float("inf"), -0.0, 0.0, -nan, 1e-42, -1e-42, 3e38, -3e38]
        )
    else:
        made = torch.randint(0 if dtype == torch.uint8 else -9, 9, shape, generator=generator, dtype=dtype)
        special = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max] * 2, dtype=dtype)
    flat = made.reshape(-1)
    count = min(len(special), flat.numel() // 4)
    flat[:count] = special[:count]
    return flat[torch.randperm(flat.numel(), generator=generator)].reshape(shape)


def outputs(file: bytes, x: Tensor, threads: int = 1) -> list[np.ndarray]:
    program = Runtime(threads=threads).load_program(file, allow_native=True, poison=True)
    return [np.array(one) for one in program.load_method("forward").execute([x.numpy()])]


def check(x: Tensor, count: int, dim: int, *, descending: bool, function: _Function | None = None) -> None:
    """The first elements in torch's stable order, which is one of those that torch allows; `function` gives them."""
    values, places = torch.sort(x, stable=True, dim=dim, descending=descending)
    expected = [one.narrow(dim, 0, count).numpy() if one.dim() else one.numpy() for one in (values, places)]
    given = function or (lambda x: torch.topk(x, count, dim, descending))
    program = torch.export.export(Function(given), (x,))
    for name in sets():
        file = lowered(program, name)
        for threads in (1, 2):
            found = outputs(file, x, threads)
            np.testing.assert_array_equal(found[0], expected[0], err_msg=f"{name}, {threads}")
            np.testing.assert_array_equal(found[1], expected[1], err_msg=f"{name}, {threads}")
            if x.is_floating_point():
                assert (np.signbit(found[0]) == np.signbit(expected[0])).all()


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("count", [1, 2, 8, 17])
def test_counts(count: int, largest: bool) -> None:
    check(numbers(torch.float32, 3, 17), count, -1, descending=largest)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_element_types(dtype: torch.dtype) -> None:
    check(numbers(dtype, 2, 33), 7, 1, descending=True)
    check(numbers(dtype, 33, 2), 7, 0, descending=False)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_dimensions(dim: int) -> None:
    check(numbers(torch.float32, 5, 6, 7), 4, dim, descending=True)


def test_scalar() -> None:
    check(torch.tensor(2.5), 1, 0, descending=True)


@pytest.mark.parametrize("rising", [True, False])
def test_many(rising: bool) -> None:
    """As of the logits of a vocabulary, in the order that takes most steps, and in that which takes fewest."""
    x = torch.arange(4000.0)
    check(x if rising else x.flip(0), 50, 0, descending=True)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int64], ids=str)
def test_stable_sort(dtype: torch.dtype, descending: bool) -> None:
    x = numbers(dtype, 3, 100)

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.sort(x, stable=True, dim=1, descending=descending)

    check(x, 100, 1, descending=descending, function=function)


def test_sort_and_order() -> None:
    x = numbers(torch.float32, 40, 3)
    check(x, 40, 0, descending=False, function=lambda x: torch.sort(x, 0))
    check(x, 40, 0, descending=False, function=lambda x: (torch.msort(x), torch.argsort(x, 0)))


@pytest.mark.parametrize("result", [0, 1])
def test_one_result(result: int) -> None:
    """The other one is not in memory, or not in that of the caller."""
    x = numbers(torch.float32, 9, 12)
    expected = torch.sort(x, stable=True, dim=1, descending=True)[result][:, :3].numpy()
    program = torch.export.export(Function(lambda x: torch.topk(x, 3)[result]), (x,))
    for name in sets():
        np.testing.assert_array_equal(outputs(lowered(program, name), x, 2)[0], expected)


def test_within_a_partition() -> None:
    """The choice of experts, with what is computed before and behind it."""

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        weights, experts = torch.topk((x * 2).softmax(-1), 4)
        return weights / weights.sum(-1, keepdim=True), experts + 1

    x = torch.randn(6, 32, generator=torch.Generator().manual_seed(0))
    expected = function(x)
    program = torch.export.export(Function(function), (x,))
    for name in sets():
        found = outputs(lowered(program, name), x)
        np.testing.assert_allclose(found[0], expected[0].numpy(), rtol=1e-5)
        np.testing.assert_array_equal(found[1], expected[1].numpy())


@pytest.mark.parametrize(("count", "is_taken"), [(512, True), (513, False)])
def test_long_lines(count: int, is_taken: bool) -> None:
    """et-vm's own kernel sorts them in less time."""
    program = torch.export.export(Function(lambda x: torch.topk(x * 2, count)[0]), (torch.randn(2, 600),))
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=SETS[:1]))
    assert any(op.name == "edge.topk" for op in edge.module.walk()) != is_taken
