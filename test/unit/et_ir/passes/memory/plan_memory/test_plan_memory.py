"""The check of memory plans, with faulty planners."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.modules import parse, run
from xdsl.utils.exceptions import PassFailedException

from et_ir.passes.memory import plan_memory
from et_ir.planning import Buffer, Layout, Plan

CHAIN = """
executorch.plan @forward {
  %x = executorch.input : tensor<4xf32>
  %0 = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%0)
  executorch.return %0
}"""


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout((0, 0), 16), "buffers 0 and 1 overlap at 0 and 0 while both are live"),
        (Layout((0, 8), 24), "buffer 1 at 8 is not aligned"),
        (Layout((0, 16), 16), "buffer 1 of 16 bytes at 16 lies outside of the arena of 16 bytes"),
    ],
)
def test_a_wrong_layout_is_found(monkeypatch: pytest.MonkeyPatch, layout: Layout, message: str) -> None:
    def planned(name: str, buffers: Sequence[Buffer], budget: int | None = None, slack: int = 0) -> Plan:
        return Plan(layout, layout.size)

    monkeypatch.setattr(plan_memory, "run_planner", planned)
    with pytest.raises(PassFailedException, match="invalid layout: " + message):
        run(parse(CHAIN), "plan-memory{check=true}")
    module = parse(CHAIN)
    run(module, "plan-memory")
    with pytest.raises(PassFailedException, match=r"executorch_c[89]"):
        run(module, "verify-executorch")
