"""Data-dependent sizes, from `torch.export` to results on every runtime, against eager.

Each is compiled once and run on data that makes the sizes zero, something between, and as large as they can get, with
poisoned memory, and in an order in which tensors grow and shrink again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from stock import StockRuntime
from support.programs import Calls
from torch import Tensor
from torch.utils import _pytree as pytree

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.diagnostics import PassReport
from et_ir.targets.lookup import DEFAULT
from et_schema import program as schema
from et_schema.pte import read_pte
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime


class Case(NamedTuple):
    """A program and the inputs to run it on; it is exported with those in the middle."""

    function: Callable[..., Any]
    inputs: Sequence[tuple[Tensor, ...]]
    target: str = DEFAULT
    """The narrowest target that has the kernels."""


def at_most(size: Any, most: int) -> None:
    torch._check(size <= most)


def number(tensor: Tensor, most: int) -> Any:
    """The content of a tensor, as a size."""
    found = tensor.item()
    torch._check(found >= 0)
    torch._check(found <= most)
    return found


def repeated(x: Tensor, repeats: Tensor) -> Tensor:
    y = torch.repeat_interleave(x, repeats, dim=0)
    at_most(y.shape[0], 10)
    return y * 2


def places(repeats: Tensor) -> Tensor:
    y = torch.repeat_interleave(repeats)
    at_most(y.shape[0], 9)
    return y


def counted(x: Tensor) -> Tensor:
    y = torch.bincount(x)
    at_most(y.shape[0], 8)
    return y


def weighed(x: Tensor, weights: Tensor) -> Tensor:
    y = torch.bincount(x, weights, minlength=3)
    at_most(y.shape[0], 8)
    return y


def joined(x: Tensor) -> Tensor:
    found = torch.nonzero(x)
    return torch.cat([found, found + 1])


def count(x: Tensor) -> Tensor:
    return torch.zeros(2) + torch.nonzero(x).shape[0]


def filled(n: Tensor) -> Tensor:
    return torch.full((number(n, 4), 3), 2.5) + 1


def replaced(x: Tensor) -> Tensor:
    y = x.clone()
    y[y > 0] = -1.0
    return y


def replaced_rows(x: Tensor, values: Tensor) -> Tensor:
    y = x.clone()
    y[x[:, 0] > 0] = values
    return y


def two_masks(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[x > 0].cumsum(0), x[x < 0].exp().sum()


def normalised_rows(x: Tensor) -> Tensor:
    return torch.softmax(x[x.sum(1) > 0], dim=-1) @ torch.ones(3, 2)


GRID = [
    (torch.zeros(2, 3),),
    (torch.tensor([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0]]),),
    (torch.ones(2, 3),),
    (torch.tensor([[-1.0, 0.0, 2.0], [5.0, -3.0, 2.0]]),),
]
"""None, some, all, and some again."""
VALUES = [
    (torch.full((2, 3), 7.0),),
    (torch.tensor([[1.0, 2.0, 2.0], [1.0, 1.0, 5.0]]),),
    (torch.arange(6.0).reshape(2, 3),),
]
REPEATS = [torch.tensor([0, 0]), torch.tensor([1, 3]), torch.tensor([4, 6]), torch.tensor([2, 0])]
NUMBERS = [(torch.tensor(n),) for n in (0, 2, 4, 1)]
BINS = [(torch.tensor([0, 0, 0]),), (torch.tensor([1, 2, 2]),), (torch.tensor([7, 0, 3]),)]
ROWS = torch.arange(6.0).reshape(2, 3)
WIDE = torch.arange(12.0).reshape(3, 4)

CASES: dict[str, Case] = {
    "nonzero": Case(torch.nonzero, GRID),
    "nonzero of a scalar": Case(torch.nonzero, [(torch.tensor(0.0),), (torch.tensor(3.0),)]),
    "nonzero as a tuple": Case(lambda x: torch.nonzero(x, as_tuple=True), GRID),
    "argwhere": Case(torch.argwhere, GRID),
    "masked_select": Case(lambda x: torch.masked_select(x, x > 0), GRID),
    "masked_select by a row": Case(lambda x: torch.masked_select(x, x[0] > 0), GRID),
    "masked_select of a row": Case(lambda x: torch.masked_select(x[0], x > 0), GRID),
    "mask": Case(lambda x: x[x > 0] * 2, GRID),
    "mask of rows": Case(lambda x: x[x[:, 0] > 0] * 2, GRID),
    "mask of columns": Case(lambda x: x[:, x[0] > 0] * 2, GRID),
    "mask and an index": Case(lambda x: x[x[:, 0] > 0, 1], GRID),
    "two masks": Case(two_masks, GRID),
    "rows through a softmax and a product": Case(normalised_rows, GRID),
    "assignment by a mask": Case(replaced, GRID),
    "assignment of rows by a mask": Case(replaced_rows, [(*x, torch.tensor([7.0, 8.0, 9.0])) for x in GRID]),
    "sum of nothing": Case(lambda x: (x[x > 0].sum(), x[x > 0].unsqueeze(0)), GRID),
    "join": Case(joined, GRID),
    "count": Case(count, GRID),
    "unique": Case(lambda x: torch.unique(x, return_inverse=True, return_counts=True), VALUES, "et-vm"),
    "unique rows": Case(lambda x: torch.unique(x, dim=0, return_counts=True), VALUES, "et-vm"),
    "unique_consecutive": Case(
        lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), VALUES, "et-vm"
    ),
    "unique_consecutive columns": Case(lambda x: torch.unique_consecutive(x, dim=1), VALUES, "et-vm"),
    "unique_consecutive of the last dimension": Case(
        lambda x: torch.unique_consecutive(x, dim=-1, return_counts=True), VALUES, "et-vm"
    ),
    "bincount": Case(counted, BINS, "et-vm"),
    "bincount with weights": Case(weighed, [(*x, torch.tensor([1.0, 0.5, 2.0])) for x in BINS], "et-vm"),
    "bincount of bytes": Case(torch.bincount, [(x.to(torch.uint8),) for (x,) in BINS], "et-vm"),
    "repeat_interleave": Case(repeated, [(ROWS, repeats) for repeats in REPEATS]),
    "repeat_interleave of places": Case(places, [(repeats % 5,) for repeats in REPEATS]),
    "repeat_interleave to a given size": Case(
        lambda x, n: torch.repeat_interleave(x, n, output_size=4), [(ROWS[0], torch.tensor([1, 3, 0]))]
    ),
    "number as a size": Case(filled, NUMBERS),
    "narrow": Case(lambda x, n: torch.narrow(x, 1, 0, number(n, 4)) * 2, [(WIDE, *n) for n in NUMBERS]),
    "slice": Case(lambda x, n: x[:, number(n, 4) :] * 2, [(WIDE, *n) for n in NUMBERS]),
    "tensor_split": Case(
        lambda x, at: torch.tensor_split(x, at, dim=1),
        [(WIDE, torch.tensor(at)) for at in ([0, 4], [1, 3], [0, 0], [3, 2], [-2, 9])],
    ),
}


def flat(results: object) -> list[Tensor]:
    return pytree.tree_leaves(results)


def check(actual: Sequence[Any], expected: Sequence[Tensor]) -> None:
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(to_torch(mine) if not isinstance(mine, Tensor) else mine, theirs)


def compiled(case: Case, target: str) -> bytes:
    example = case.inputs[len(case.inputs) // 2]
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(Calls(case.function), example)
    return to_edge(program).to_executorch(ExecutorchBackendConfig(target=target)).buffer


@pytest.mark.parametrize("name", CASES)
def test_results(name: str, tmp_path: Path, stock: StockRuntime) -> None:
    case = CASES[name]
    file = compiled(case, case.target)
    expected = [flat(case.function(*inputs)) for inputs in case.inputs]
    for library in ("portable", "aten"):
        method = Runtime.get().load_program(file, kernels=library, poison=True).load_method("forward")
        for inputs, results in zip(case.inputs, expected, strict=True):
            check(list(method.execute(list(inputs))), results)
    if case.target == DEFAULT:
        path = tmp_path / "model.pte"
        path.write_bytes(file)
        for inputs, results in zip(case.inputs, expected, strict=True):
            check(stock.run(path, inputs), results)


REPEATS, MASK = torch.tensor([1, 2, 0, 3]), torch.tensor([True, False, True, True])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.repeat_interleave(x, REPEATS, dim=0).flatten() + 1,
        lambda x: x[MASK] @ x[MASK].T,
        lambda x: x.sum() * torch.bincount(REPEATS, minlength=6),
    ],
    ids=["repeat_interleave", "mask", "bincount"],
)
def test_sizes_that_constants_tell(function: Callable[..., Any], tmp_path: Path, stock: StockRuntime) -> None:
    """They are known at compile time: no register of the file has a size of its own."""
    x = torch.rand(4, 2)
    path = tmp_path / "model.pte"
    path.write_bytes(file := compiled(Case(function, [(x,)]), DEFAULT))
    values = [value.val for value in read_pte(file).program.execution_plan[0].values]
    assert {v.shape_dynamism for v in values if isinstance(v, schema.Tensor)} == {
        schema.TensorShapeDynamism.STATIC
    }
    check(list(Runtime.get().load_program(file).load_method("forward").execute([x])), [function(x)])
    check(stock.run(path, [x]), [function(x)])


@pytest.mark.parametrize(
    ("function", "example"),
    [
        (torch.bincount, torch.tensor([1, 2])),
        (torch.repeat_interleave, torch.tensor([1, 2])),
        (lambda n: torch.zeros(n.item()), torch.tensor(3)),
    ],
)
def test_without_a_bound(function: Callable[..., Any], example: Tensor) -> None:
    with pytest.raises(PassReport, match=r"with unbounded sizes\n.*torch\._check\(n <= N\)"):
        compiled(Case(function, [(example,)]), "et-vm")


def test_more_than_was_stated() -> None:
    """A size beyond what the program promised is a trap, not a write past the end of memory."""
    method = Runtime.get().load_program(compiled(CASES["bincount"], "et-vm")).load_method("forward")
    check(list(method.execute([torch.tensor([7, 0, 0])])), [torch.tensor([2, 0, 0, 0, 0, 0, 0, 1])])
    with pytest.raises(Exception, match="do not fit the planned"):
        method.execute([torch.tensor([8, 0, 0])])
