"""Multiply-adds and operations of operators, against torch's counter of operations."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from et_ops import OPERATORS
from et_ops.work import Sizes, is_transposed, multiply_adds, operations

CONVOLUTION = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
CALLS = {
    "mm": {"self": (3, 4), "mat2": (4, 5)},
    "bmm": {"self": (2, 3, 4), "mat2": (2, 4, 5)},
    "addmm": {"self": (5,), "mat1": (3, 4), "mat2": (4, 5)},
    "baddbmm": {"self": (3, 5), "batch1": (2, 3, 4), "batch2": (2, 4, 5)},
    "linear": {"input": (2, 3, 4), "weight": (5, 4), "bias": None},
    "convolution": {"input": (2, 4, 6, 6), "weight": (6, 2, 3, 2), "bias": (6,)},
}


def sizes_of(shapes: dict[str, Sequence[int] | None]) -> Sizes:
    return shapes.get


def counted(name: str, **arguments: object) -> tuple[int, int]:
    """The multiply-adds that torch counts, and the elements of the result."""
    packet, _, overload = name.partition(".")
    with FlopCounterMode(display=False) as counter:
        made = getattr(getattr(torch.ops.aten, packet), overload or "default")(**arguments)
    return counter.get_total_flops() // 2, made.numel()


@pytest.mark.parametrize("name", [name for name in CALLS if name != "convolution"])
def test_products(name: str) -> None:
    shapes = CALLS[name]
    tensors = {key: None if shape is None else torch.ones(shape) for key, shape in shapes.items()}
    products, made = counted(name, **tensors)
    operator = OPERATORS[name]
    assert multiply_adds(operator, sizes_of(shapes), made) == products
    has_addend = name in ("addmm", "baddbmm")
    assert operations(operator, sizes_of(shapes), made) == 2 * products + (made if has_addend else 0)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions(bias: bool, transposed: bool) -> None:
    shapes = dict(CALLS["convolution"])
    channels = 12 if transposed else 6
    if transposed:
        shapes["weight"] = (4, 6, 3, 2)
    shapes["bias"] = (channels,) if bias else None
    tensors = {key: None if shape is None else torch.ones(shape) for key, shape in shapes.items()}
    settings = dict(zip(CONVOLUTION, ([1, 1], [0, 0], [1, 1], transposed, [0, 0], 2), strict=True))
    products, made = counted("convolution", **tensors, **settings)
    operator = OPERATORS["convolution"]
    assert is_transposed(operator, settings.get) is transposed
    assert multiply_adds(operator, sizes_of(shapes), made, transposed=transposed) == products
    found = operations(operator, sizes_of(shapes), made, transposed=transposed)
    assert found == 2 * products + (made if bias else 0)


def test_simple_arithmetic_and_others() -> None:
    assert operations(OPERATORS["add.Tensor"], sizes_of({}), 12) == 12
    assert operations(OPERATORS["exp"], sizes_of({}), 12) is None
    assert not is_transposed(OPERATORS["mm"], {"transposed": True}.get)
    assert is_transposed(OPERATORS["conv_transpose2d.input"], {}.get)
