"""Cost of concatenate-in-place. Its effect: test/lit/passes/memory/concatenate-in-place.mlir."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir import to_edge
from et_ir.analysis import interference
from et_ir.analysis.liveness import Liveness
from et_ir.driver.observer import Observer
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.stages import run_passes


class Concatenations(nn.Module):
    """A chain of them."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.count):
            x = torch.cat([x.sigmoid(), x.sin()], 0).view(2, 8, 16).mean(0)
        return x


def test_the_plan_is_walked_once_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[object] = []

    class Counted(Liveness):
        def __init__(self, plan: object) -> None:
            walks.append(plan)
            super().__init__(plan)  # pyright: ignore[reportArgumentType]

    walked: dict[str, int] = {}

    class Walks(Observer):
        def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
            walked[one.name] = len(walks)
            walks.clear()

    monkeypatch.setattr(interference, "Liveness", Counted)
    module = to_edge(torch.export.export(Concatenations(20), (torch.ones(8, 16),))).module
    run_passes(module, executorch_passes(), Walks())
    assert walked["concatenate-in-place"] == 1
    assert "cat.out" not in str(module)
