"""Features of files and methods: nesting of arguments, weights stored once, and state that methods share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from program_features import CASES, Case
from torch import nn
from torch.utils import _pytree as pytree

from et_ir import to_edge
from et_schema.pte import read_pte
from et_vm.runtime import Runtime


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("calls", torch.tensor(5))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.total.add_(x)
        self.calls += 1
        return self.total * 1, self.calls * 1


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


def test_the_file_keeps_how_inputs_and_outputs_nest(tmp_path: Path) -> None:
    case = CASES["trees"]()
    path = compiled(case, tmp_path / "model.pte")
    container = read_pte(path.read_bytes()).program.execution_plan[0].container_meta_type
    assert container is not None
    _, inputs = pytree.tree_flatten((case.args, case.kwargs))
    _, outputs = pytree.tree_flatten(case.module(*case.args))
    assert pytree.treespec_loads(container.encoded_inp_str) == inputs
    assert pytree.treespec_loads(container.encoded_out_str) == outputs


def test_tied_weights_are_stored_once(tmp_path: Path) -> None:
    path = compiled(CASES["tied"](), tmp_path / "model.pte")
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
