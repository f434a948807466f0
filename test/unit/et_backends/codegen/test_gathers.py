"""Gathers and scatters of the native backend against torch, and indices that are out of range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from native_modules import SETS, as_module, check, compiled, lowered, sets
from torch.nn import functional as F

from et_schema.errors import Error, ExecutorchError
from et_vm.runtime import Runtime

_Function = Callable[..., torch.Tensor]


def indices(size: int, *shape: int, negative: bool = False, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(size)
    return torch.randint(-size if negative else 0, size, shape, generator=generator, dtype=dtype)


def put_inside(x: torch.Tensor, i: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    made = x.clone()
    made[:, i] = values
    return made


GATHERS = [
    pytest.param(lambda i, w: F.embedding(i, w), (indices(11, 3, 5), torch.randn(11, 67)), id="embedding"),
    pytest.param(lambda i, w: F.embedding(i, w), (indices(9, 4), torch.randn(9, 1)), id="embedding-narrow"),
    pytest.param(
        lambda i, w: F.embedding(i, w),
        (indices(9, 4, dtype=torch.int32), torch.randn(9, 128)),
        id="embedding-i32",
    ),
    pytest.param(
        lambda x, i: x.index_select(1, i), (torch.randn(3, 7, 19), indices(7, 9)), id="index_select"
    ),
    pytest.param(
        lambda x, i: x.index_select(-1, i), (torch.randn(3, 7), indices(7, 9)), id="index_select-last"
    ),
    pytest.param(lambda x, i: x.gather(1, i), (torch.randn(4, 7, 5), indices(7, 3, 9, 2)), id="gather"),
    pytest.param(lambda x, i: x.gather(0, i), (torch.arange(9), indices(9, 70)), id="gather-integers"),
    pytest.param(lambda x, i: x[i], (torch.randn(7, 19), indices(7, 3, 4, negative=True)), id="index-first"),
    pytest.param(
        lambda x, i: x[:, i], (torch.randn(3, 7, 19), indices(7, 5, negative=True)), id="index-inside"
    ),
    pytest.param(
        lambda x, i, j: x[i, j],
        (torch.randn(7, 6, 9), indices(7, 5, 1), indices(6, 4)),
        id="index-of-two-broadcast",
    ),
    pytest.param(
        lambda x, i, j: x[:, i, :, j],
        (torch.randn(3, 7, 2, 6), indices(7, 5), indices(6, 5)),
        id="index-of-apart",
    ),
    pytest.param(
        lambda x, i, j: x[:, i, j],
        (torch.rand(3, 7, 6, 5) > 0.5, indices(7, 4), indices(6, 4)),
        id="index-of-bools",
    ),
    pytest.param(lambda x: x.flip(0, 2), (torch.randn(3, 4, 5, 33),), id="flip"),
    pytest.param(lambda x: x.unfold(1, 3, 2), (torch.randn(4, 11),), id="unfold"),
    pytest.param(lambda x: x.diagonal(), (torch.randn(7, 5),), id="diagonal"),
    pytest.param(lambda x: x.diagonal(-2, 0, 2), (torch.randn(7, 3, 5),), id="diagonal-below"),
    pytest.param(lambda x: x.diagonal(1, 2, 1), (torch.randn(2, 7, 5),), id="diagonal-above"),
    pytest.param(lambda x: x.tril(1) + x.triu(-1), (torch.randn(7, 5),), id="triangles"),
    pytest.param(lambda x: x.flip(-1), (torch.arange(37),), id="flip-last"),
    pytest.param(lambda x: x.roll((2, -5), (0, 1)), (torch.randn(5, 7, 3),), id="roll"),
    pytest.param(lambda x: x.roll(3), (torch.randn(5, 7),), id="roll-flat"),
    pytest.param(lambda x: x.repeat(2, 3, 1), (torch.randn(4, 19),), id="repeat"),
    pytest.param(lambda x: x.repeat(3), (torch.rand(19) > 0.5,), id="repeat-bools"),
    pytest.param(lambda x: x[:, 1:9:3].clone(), (torch.randn(4, 10, 18),), id="steps"),
]

SCATTERS = [
    pytest.param(lambda x, i, v: x.scatter(1, i, v), (3, 7), (7, 2, 4), (5, 6), id="scatter"),
    pytest.param(lambda x, i, v: x.scatter_add(1, i, v), (3, 7), (7, 2, 30), (3, 30), id="scatter_add"),
    *(
        pytest.param(
            lambda x, i, v, reduce=reduce, own=own: x.scatter_reduce(0, i, v, reduce, include_self=own),
            (7, 5),
            (7, 6, 3),
            (6, 4),
            id=f"{reduce}{'' if own else '-of-new'}",
        )
        for reduce in ("sum", "prod", "amax", "amin")
        for own in (True, False)
    ),
    pytest.param(lambda x, i, v: x.index_put((i,), v), (9, 33), (9, 1), (1, 33), id="index_put"),
    pytest.param(
        lambda x, i, v: x.index_put((i,), v, accumulate=True), (9, 33), (9, 20), (20, 33), id="index_put-adds"
    ),
    pytest.param(put_inside, (4, 9, 3), (9, 2), (4, 2, 3), id="index_put-inside"),
    pytest.param(lambda x, i, v: x.index_put((i,), v), (9, 5, 3), (9, 1), (5, 1), id="index_put-broadcast"),
]


@pytest.mark.parametrize(("function", "arguments"), GATHERS)
def test_gathers(function: _Function, arguments: tuple[torch.Tensor, ...]) -> None:
    check(function, *arguments, exact=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int16], ids=str)
@pytest.mark.parametrize(("function", "shape", "index", "values"), SCATTERS)
def test_scatters(
    function: _Function,
    shape: tuple[int, ...],
    index: tuple[int, ...],
    values: tuple[int, ...],
    dtype: torch.dtype,
) -> None:
    size, *of = index
    made = [(torch.randn(one) * 9).to(dtype) for one in (shape, values)]
    places = indices(size, *of)
    if function(torch.zeros(shape), places, torch.ones(values)).max() == 1 and len(of) == 2:
        # Which of the values at one place stays, torch does not say.
        places = torch.stack([torch.randperm(size)[: of[1]] for _ in range(of[0])])
    check(function, made[0], places, made[1], exact=not dtype.is_floating_point)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64], ids=str)
def test_scatters_of_places_that_are_known(dtype: torch.dtype) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        row = torch.select_scatter(x, y[:, 0], 1, -2)
        return torch.slice_scatter(row, y, 1, 1, 6, 2)

    check(function, (torch.randn(4, 7, 9) * 3).to(dtype), (torch.randn(4, 3, 9) * 3).to(dtype), exact=True)


def test_scatter_of_a_number() -> None:
    check(lambda x, i: x.scatter(0, i, 2.5), torch.randn(7, 5), indices(7, 1, 5), exact=True)


OUT_OF_RANGE: dict[str, tuple[_Function, int, int]] = {
    "embedding": (lambda i: F.embedding(i, torch.arange(40.0).reshape(10, 4)), -1, 10),
    "index_select": (lambda i: torch.arange(40.0).reshape(4, 10).index_select(1, i), -1, 10),
    "gather": (lambda i: torch.arange(10.0).gather(0, i), -1, 10),
    "index.Tensor": (lambda i: torch.arange(40.0).reshape(10, 4)[i], -11, 10),
    "scatter.value": (lambda i: torch.arange(10.0).scatter(0, i, 1.0), -1, 10),
    "index_put": (lambda i: torch.arange(10.0).index_put((i,), torch.ones(1)), -11, 10),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("operator", OUT_OF_RANGE)
def test_indices_out_of_range(operator: str, threads: int) -> None:
    function, below, above = OUT_OF_RANGE[operator]
    good = torch.tensor([1, 9, 0, 3, 2])
    expected = function(good).numpy()
    program = torch.export.export(as_module(function), (good,))
    for name in sets():
        file = lowered(program, name)
        method = Runtime(threads=threads).load_program(file, allow_native=True).load_method("forward")
        for wrong in (below, above, 2**62, -(2**62)):
            bad = good.numpy().copy()
            bad[4] = wrong
            with pytest.raises(
                ExecutorchError, match=f"aten::{operator}: an index is out of range"
            ) as caught:
                method.execute([bad])
            assert caught.value.code == Error.InvalidArgument
            assert np.array_equal(method.execute([good.numpy()])[0], expected)


def test_first_of_two_reports() -> None:
    """The one that is first in the program, whichever thread reports it."""

    rows = torch.randn(5, 40)

    def function(i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        return F.embedding(i, rows) + rows[j]

    bad = torch.full((9,), 77)
    file = compiled(as_module(function), (bad % 5, bad % 5), SETS[0])
    method = Runtime(threads=2).load_program(file, allow_native=True).load_method("forward")
    for _ in range(20):
        with pytest.raises(ExecutorchError, match="aten::embedding"):
            method.execute([bad.numpy(), bad.numpy()])
    with pytest.raises(ExecutorchError, match=r"aten::index\.Tensor"):
        method.execute([(bad % 5).numpy(), bad.numpy()])
