"""Names of operators, and patterns that choose modules and operators."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from et_ir.quantization.operators import is_kept, module_and_operator_names, no_match


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.log(x + 1) + 2


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.front = nn.ModuleDict({"mel": Inner()})
        self.head = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.front["mel"](x)) * 2


def names() -> list[str]:
    program = torch.export.export(Outer(), (torch.ones(2, 3),)).module()
    return module_and_operator_names(program.graph)


def test_names_of_operators_and_of_the_modules_that_call_them() -> None:
    modules = ["front", "front.mel", "head"]
    operators = ["front.mel:add", "front.mel:log", "front.mel:add.1", "head:linear", ":mul"]
    assert names() == [*modules, *operators]


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("front", {"front.mel:add", "front.mel:log", "front.mel:add.1"}),
        ("front.mel.*", {"front.mel:add", "front.mel:log", "front.mel:add.1"}),
        ("head.*", {"head:linear"}),
        ("*.mel", {"front.mel:add", "front.mel:log", "front.mel:add.1"}),
        ("front.mel:add", {"front.mel:add"}),
        ("front.mel:add*", {"front.mel:add", "front.mel:add.1"}),
        ("*:log", {"front.mel:log"}),
        (":mul", {":mul"}),
        ("mel", set[str]()),
        ("front.me", set[str]()),
    ],
)
def test_patterns(pattern: str, chosen: set[str]) -> None:
    assert {name for name in names() if ":" in name and is_kept(name, [pattern])} == chosen
    assert bool(no_match(pattern, names())) is not bool(chosen)


def test_names_like_a_pattern_that_matches_none_come_first() -> None:
    assert no_match("front.mell.*", names()).startswith(
        "no module's path matches 'front.mell.*': there is front.mel"
    )
    assert no_match("hed", names()).startswith("no module's path matches 'hed': there is head, ")
    assert no_match("front.mel:ad", names()).startswith(
        "no operator's name matches 'front.mel:ad': there is front.mel:add, "
    )
    assert no_match("a", []) == "no module's path matches 'a': there is none"
