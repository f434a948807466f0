"""Program features, from `torch.export` to results on both runtimes, against eager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from stock import StockRuntime
from torch import nn
from torch.utils import _pytree as pytree

from et_ir import to_edge
from et_schema.pte import read_pte
from et_vm.runtime import Runtime


class Case(NamedTuple):
    """A module, and the arguments that it is exported and run with."""

    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012 (of a tuple)


class Trees(nn.Module):
    def forward(self, a: dict[str, Any], b: list[torch.Tensor]) -> dict[str, Any]:
        return {"sum": a["x"] + a["y"][0], "pair": (b[0] - b[1], [b[0] * 2, None]), "none": None}


class Keywords(nn.Module):
    def forward(
        self, x: torch.Tensor, *, scale: torch.Tensor, double: bool = False, shift: torch.Tensor | None = None
    ) -> torch.Tensor:
        x = x * scale if shift is None else x * scale + shift
        return x * 2 if double else x


class Numbers(nn.Module):
    def forward(self, x: torch.Tensor, times: int, plus: float, negate: bool, nothing: None) -> torch.Tensor:
        y = x * times + plus
        return -y if negate and nothing is None else y


class Strings(nn.Module):
    def forward(self, x: torch.Tensor, how: str) -> tuple[torch.Tensor, str]:
        return x.abs() if how == "flat" else -x, "done"


class Literals(nn.Module):
    """Outputs that are no tensors, an input among them."""

    def forward(self, x: torch.Tensor, k: int) -> tuple[Any, ...]:
        return 3, k, None, 2.5, True, x + 1


class Lifted(nn.Module):
    """Tensors made in `forward`, which export lifts to constants."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + torch.tensor([1.0, 2.0, 3.0]), torch.arange(3) + x, torch.ones(3) * 2


class Hollow(nn.Module):
    """Whose only constants have no elements, which makes a segment of constants without bytes."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.cat([x, torch.empty(0)]), x[torch.tensor([], dtype=torch.int64)]


class Passing(nn.Module):
    """Outputs that are inputs, parameters, each other, and views."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor, unused: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return x, y, y, self.weight, x.t(), y[0], y.view(-1)


class Tied(nn.Module):
    """One weight for two layers, and another one for an embedding and the layer that undoes it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(40, 40)
        self.second = nn.Linear(40, 40)
        self.second.weight = self.first.weight
        self.words = nn.Embedding(500, 40)
        self.scores = nn.Linear(40, 500, bias=False)
        self.scores.weight = self.words.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.scores(self.second(self.first(self.words(ids))))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("calls", torch.tensor(5))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.total.add_(x)
        self.calls += 1
        return self.total * 1, self.calls * 1


def cases() -> dict[str, Callable[[], Case]]:
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    return {
        "trees": lambda: Case(Trees(), ({"x": x, "y": (y, None)}, [x, y])),
        "keywords": lambda: Case(Keywords(), (x,), {"scale": y}),
        "keywords in another order": lambda: Case(Keywords(), (x,), {"shift": y, "double": True, "scale": x}),
        "numbers": lambda: Case(Numbers(), (x, 3, 0.5, True, None)),
        "strings": lambda: Case(Strings(), (x, "flat")),
        "literals": lambda: Case(Literals(), (x, 7)),
        "lifted": lambda: Case(Lifted(), (x,)),
        "hollow": lambda: Case(Hollow(), (x,)),
        "passing": lambda: Case(Passing(), (x, y)),
        "tied": lambda: Case(Tied(), (torch.tensor([1, 499]),)),
    }


def compiled(case: Case, path: Path) -> Path:
    to_edge(torch.export.export(case.module.eval(), case.args, case.kwargs)).to_executorch().save(path)
    return path


def check(actual: list[Any], expected: list[Any]) -> None:
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
        else:
            assert type(one) is type(other)
            assert one == other


@pytest.mark.parametrize("name", cases())
def test_results(name: str, tmp_path: Path, stock: StockRuntime) -> None:
    torch.manual_seed(0)
    case = cases()[name]()
    path = compiled(case, tmp_path / "model.pte")
    with torch.no_grad():
        expected = pytree.tree_leaves(case.module(*case.args, **case.kwargs))
    inputs = pytree.tree_leaves((case.args, case.kwargs))
    for options in ({}, {"poison": True}, {"kernels": "aten"}):
        check(
            list(Runtime.get().load_program(path, **options).load_method("forward").execute(inputs)), expected
        )
    if not any(isinstance(value, str) for value in inputs):  # which stock's Python API does not take
        check(stock.run(path, inputs), expected)


def test_the_file_keeps_how_inputs_and_outputs_nest(tmp_path: Path) -> None:
    case = cases()["trees"]()
    path = compiled(case, tmp_path / "model.pte")
    container = read_pte(path.read_bytes()).program.execution_plan[0].container_meta_type
    assert container is not None
    _, inputs = pytree.tree_flatten((case.args, case.kwargs))
    _, outputs = pytree.tree_flatten(case.module(*case.args))
    assert pytree.treespec_loads(container.encoded_inp_str) == inputs
    assert pytree.treespec_loads(container.encoded_out_str) == outputs


def test_tied_weights_are_stored_once(tmp_path: Path) -> None:
    path = compiled(cases()["tied"](), tmp_path / "model.pte")
    weights = 4 * (40 * 40 + 2 * 40 + 500 * 40)
    assert weights < path.stat().st_size < weights + 4096


@pytest.mark.parametrize("kernels", ["portable", "aten"])
def test_state_lives_from_one_execution_to_the_next(kernels: str, tmp_path: Path) -> None:
    module = Counter()
    path = compiled(Case(module, (torch.ones(3),)), tmp_path / "model.pte")
    method = Runtime.get().load_program(path, kernels=kernels).load_method("forward")
    for x in (torch.ones(3), torch.arange(3.0), torch.randn(3)):
        check(list(method.execute([x])), list(module(x)))


class Reader(nn.Module):
    """The state of another module."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter

    def forward(self) -> torch.Tensor:
        return self.counter.total * 1


def test_methods_share_weights_and_state() -> None:
    counter = Counter()
    programs = {
        "count": torch.export.export(counter, (torch.ones(3),)),
        "read": torch.export.export(Reader(counter), ()),
    }
    program = Runtime.get().load_program(to_edge(programs).to_executorch().buffer)
    assert program.method_names == {"count", "read"}
    for turn in (1, 2):
        program.load_method("count").execute([torch.ones(3)])
        (total,) = program.load_method("read").execute([])
        assert total.tolist() == [turn] * 3
