"""Programs for sizes that change give eager's results at the smallest, a middle and the largest size, up and down, on
both libraries of et-vm and on the stock runtime; what export did not allow is refused, with input and dimension.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from stock import StockError, StockRuntime
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_schema.errors import InputError
from et_vm.runtime import Runtime

AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC
N, M = Dim("n", min=2, max=12), Dim("m", min=3, max=9)
Shapes = tuple[tuple[int, ...], ...]


class Case(NamedTuple):
    """A function, how its inputs vary, shapes that it takes (the first is exported with), and shapes that it does not,
    with what the refusal says. `bounds` are given by the user.
    """

    function: Callable[..., Any]
    dynamic: tuple[Any, ...]
    fits: Sequence[Shapes]
    refused: Sequence[tuple[Shapes, str]]
    bounds: dict[str, int] = {}  # noqa: RUF012 (never changed)


def checked(x: Tensor) -> Tensor:
    torch._check(x.shape[0] % 3 == 0)
    torch._check(x.shape[0] != 6)
    return x.reshape(-1, 3, 4).sum(1)


def checked_together(x: Tensor, y: Tensor) -> Tensor:
    torch._check(x.shape[0] + y.shape[0] <= 12)
    return torch.cat([x, y]).cumsum(0)


def chosen(x: Tensor) -> Tensor:
    return x * torch.sym_ite(x.shape[0] > 5, x.shape[0], 2 * x.shape[0])


def scaled_by_root(x: Tensor) -> Tensor:
    return x * x.shape[0] ** -0.5


def one(*sizes: int) -> list[Shapes]:
    return [((n, 4),) for n in sizes]


def two(*sizes: tuple[int, int]) -> list[Shapes]:
    return [((a, 4), (b, 4)) for a, b in sizes]


LOW, HIGH = (((1, 4),), "requires 2 <= x.shape"), (((13, 4),), "dimension 0 is 13, its upper bound is 12")
RANGE: tuple[Any, Sequence[Shapes], Sequence[tuple[Shapes, str]]] = (({0: N},), one(5, 2, 12), [LOW, HIGH])

CASES: dict[str, Case] = {
    "elements": Case(lambda x: (x + 1).relu() * 2, *RANGE),
    "rows summed": Case(lambda x: x.sum(0), *RANGE),
    "softmax": Case(lambda x: x.softmax(0), *RANGE),
    "product with itself": Case(lambda x: x @ x.T, *RANGE),
    "normalised": Case(lambda x: F.layer_norm(x, (4,)), *RANGE),
    "shape computed": Case(lambda x: torch.ones(2 * x.shape[0] + 1, x.shape[0]), *RANGE),
    "number computed": Case(lambda x: x * (x.shape[0] % 5 - 3) / x.shape[0], *RANGE),
    "root of a size": Case(scaled_by_root, *RANGE),
    "power of a size": Case(lambda x: x + 2.0 ** (x.shape[0] - 6), *RANGE),
    "choice by a size": Case(chosen, *RANGE),
    "at least and at most": Case(
        lambda x: x.new_ones(torch.sym_max(x.shape[0], 5), torch.sym_min(x.shape[0], 3)), *RANGE
    ),
    "padded to a multiple": Case(lambda x: F.pad(x, (0, 0, 0, -x.shape[0] % 4)), *RANGE),
    "lower triangle": Case(lambda x: torch.tril(torch.ones(x.shape[0], x.shape[0])) @ x, *RANGE),
    "positions": Case(lambda x: x + torch.arange(x.shape[0])[:, None], *RANGE),
    "returned size": Case(lambda x: (x, x.shape[0] * 3 - 1), *RANGE),
    "where not zero": Case(lambda x: torch.nonzero(x > 0).sum(0), *RANGE),
    "selected": Case(lambda x: x[x > 0] * 2, *RANGE),
    "another upper bound": Case(
        lambda x: x + 1, ({0: Dim("n", max=7)},), one(5, 0, 1, 7), [(((8, 4),), "its upper bound is 7")]
    ),
    "minimum 1": Case(
        lambda x: x.mean(0), ({0: Dim("n", min=1, max=7)},), one(3, 1, 7), [(((0, 4),), "requires 1 <= x")]
    ),
    "even": Case(
        lambda x: x.reshape(-1, 2, 4).sum(1),
        ({0: 2 * Dim("h", min=2, max=6)},),
        one(6, 4, 12),
        [(((7, 4),), "x.shape.0. % 2 == 0"), (((2, 4),), "requires 4 <= x.shape"), (((14, 4),), "is 14")],
    ),
    "equal": Case(
        lambda x, y: x * y,
        ({0: N}, {0: N}),
        two((5, 5), (2, 2), (12, 12)),
        [(((5, 4), (6, 4)), "dimension 0 of y is 6 and dimension 0 of x is 5")],
    ),
    "one more": Case(
        lambda x, y: x + y[1:],
        ({0: N}, {0: N + 1}),
        two((5, 6), (2, 3), (12, 13)),
        [(((5, 4), (5, 4)), "requires y.shape.0. == 1 \\+ x.shape")],
    ),
    "two": Case(
        lambda x, y: torch.cat([x, y]) @ torch.ones(4, 3),
        ({0: N}, {0: M}),
        two((5, 4), (2, 3), (12, 9), (2, 9)),
        [(((5, 4), (2, 4)), "requires 3 <= y.shape"), (((5, 4), (10, 4)), "its upper bound is 9")],
    ),
    "two of one tensor": Case(
        lambda x: (x.transpose(0, 1) * 2).contiguous(),
        ({0: N, 1: M},),
        [((5, 4),), ((2, 3),), ((12, 9),), ((12, 3),)],
        [(((5, 2),), "dimension 1 of x is 2"), (((2, 10),), "dimension 1 is 10")],
    ),
    "automatic": Case(
        lambda x, y: x + y,
        ({0: AUTO}, {0: AUTO}),
        two((5, 5), (2, 2), (8, 8)),
        [(((3, 4), (4, 4)), "y is 4 and dimension 0 of x is 3"), (((9, 4), (9, 4)), "its upper bound is 8")],
        {"x.0": 8},
    ),
    "dynamic with limits": Case(
        lambda x: x.cumsum(0),
        ({0: DYNAMIC(min=3, max=9)},),
        one(5, 3, 9),
        [(((2, 4),), "requires 3 <= x.shape"), (((10, 4),), "its upper bound is 9")],
    ),
    "default bound": Case(
        lambda x: x.flip(0), ({0: DYNAMIC},), one(5, 2, 9), [(((10, 4),), "its upper bound is 9")], {"x.0": 9}
    ),
    "checked": Case(
        checked,
        ({0: DYNAMIC(max=12)},),
        one(9, 12),
        [(((4, 4),), "% 3 == 0"), (((6, 4),), "x.shape.0. != 6")],
    ),
    "checked together": Case(
        checked_together,
        ({0: DYNAMIC(max=10)}, {0: DYNAMIC(max=10)}),
        two((5, 4), (2, 2), (10, 2)),
        [(((10, 4), (3, 4)), r"input \d \([xy]\) and input \d")],
    ),
}


class One(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


class Two(One):
    def forward(self, x: Tensor, y: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.function(x, y)


def inputs_of(shapes: Shapes) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(sum(map(sum, shapes)))
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def exported(case: Case) -> tuple[nn.Module, torch.export.ExportedProgram]:
    module = (One if len(case.fits[0]) == 1 else Two)(case.function)
    with warnings.catch_warnings(action="ignore"):
        return module, torch.export.export(module, inputs_of(case.fits[0]), dynamic_shapes=case.dynamic)


def compare(found: Sequence[Any], module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    wanted = pytree.tree_leaves(module(*inputs))
    assert len(found) == len(wanted)
    for got, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_sizes(name: str, tmp_path: Path, stock: StockRuntime) -> None:
    case = CASES[name]
    module, program = exported(case)
    edge = to_edge(program, compile_config=EdgeCompileConfig(default_bounds=case.bounds))
    path = tmp_path / "model.pte"
    path.write_bytes(edge.to_executorch(ExecutorchBackendConfig()).buffer)
    methods = [
        Runtime.get().load_program(path, kernels=library, poison=poison).load_method("forward")
        for library in ("portable", "aten")
        for poison in (False, True)
    ]
    for shapes in [*case.fits, *reversed(case.fits)]:
        inputs = inputs_of(shapes)
        for method in methods:
            # From the third time on, what sizes tell is not looked at again.
            for _ in range(4):
                compare(method.execute(list(inputs)), module, inputs)
        compare(stock.run(path, inputs), module, inputs)
    for shapes, message in case.refused:
        inputs = list(inputs_of(shapes))
        for method in methods:
            for _ in range(2):
                with pytest.raises(InputError, match=message):
                    method.execute(inputs)
    inputs = inputs_of(case.fits[0])
    for method in methods:
        compare(method.execute(list(inputs)), module, inputs)


def test_beyond_the_largest_on_stock(tmp_path: Path, stock: StockRuntime) -> None:
    _, program = exported(CASES["elements"])
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(program).to_executorch().buffer)
    with pytest.raises(StockError, match="resize a bounded tensor"):
        stock.run(path, inputs_of(((13, 4),)))


UNBOUNDED: dict[str, Callable[[Tensor], Any]] = {
    "elements": lambda x: (x + 1).relu() * 2,
    "products": lambda x: (x @ x.T).softmax(1) @ x,
    "parts": lambda x: torch.cat([x, x]).reshape(-1),
    "not zero": lambda x: torch.nonzero(x > 0),
    "selected": lambda x: x[x > 0] * 2,
    "distinct": lambda x: torch.unique((x * 2).round()),
    "of a number in a tensor": lambda x: torch.zeros((x > 0).sum().item()) + 1,
}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_memory_at_run_time(name: str, tmp_path: Path) -> None:
    module = One(UNBOUNDED[name])
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, inputs_of(((5, 4),)), dynamic_shapes=({0: Dim("n", min=1)},))
    path = tmp_path / "model.pte"
    config = ExecutorchBackendConfig(target="et-vm", unbounded="runtime")
    path.write_bytes(to_edge(program).to_executorch(config).buffer)
    for library in ("portable", "aten"):
        for poison in (False, True):
            method = Runtime.get().load_program(path, kernels=library, poison=poison).load_method("forward")
            for rows in (5, 1, 100, 7, 7, 7):
                inputs = inputs_of(((rows, 4),))
                compare(method.execute(list(inputs)), module, inputs)


def test_a_dimension_that_is_marked(tmp_path: Path, stock: StockRuntime) -> None:
    """`mark_dynamic` makes a symbol without a bound, which the compiler is told."""
    module = One(lambda x: torch.cat([x * 2, x]) + x.shape[0])
    example = torch.ones(6, 4)
    torch._dynamo.mark_dynamic(example, 0)
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, (example,))
    path = tmp_path / "model.pte"
    edge = to_edge(program, compile_config=EdgeCompileConfig(default_bounds={"x.0": 16}))
    edge.to_executorch().save(path)
    method = Runtime.get().load_program(path).load_method("forward")
    for rows in (2, 6, 16):
        inputs = inputs_of(((rows, 4),))
        compare(method.execute(list(inputs)), module, inputs)
        compare(stock.run(path, inputs), module, inputs)
    with pytest.raises(InputError, match="16"):
        method.execute(list(inputs_of(((17, 4),))))
