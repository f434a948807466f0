"""Instructions say which operator of the exported program they come from."""

from __future__ import annotations

import torch
from modules import parse
from torch import nn
from xdsl.dialects.builtin import UNKNOWN_LOC

from et_ir import to_edge
from et_ir.dialects.executorch import KernelCallOp
from et_ir.emit import debug_handle_map, emit, origins, origins_json
from et_ir.locations import Frame

TEXT = """
executorch.plan @g {arenas = array<i64>} {
  executorch.kernel_call "x::a"() loc("m"("model.py":3:0))
  executorch.kernel_call "x::b"()
  executorch.kernel_call "x::c"() handle 1 loc("model.py":4:0)
  executorch.kernel_call "x::d"() loc("m"("model.py":3:0))
  executorch.kernel_call "x::e"() loc("model.py":5:0)
  executorch.return
}
executorch.plan @f {arenas = array<i64: 1>} {
  %p = executorch.input {memory_id = 1, offset = 0} : tensor<i1>
  executorch.kernel_call "x::a"() loc("m"("model.py":3:0))
  executorch.jump_false %p, ^otherwise, ^holds
^holds:
  executorch.jump ^end
^otherwise:
  executorch.free %p
  executorch.jump ^end
^end:
  executorch.return
}
"""


def test_instructions_of_one_origin_have_one_handle() -> None:
    """Numbers start at 1 with the first method of the file, and pass over those that the text gives."""
    module = parse(TEXT)
    for op in module.walk():
        if isinstance(op, KernelCallOp) and op.key == "x::b":
            op.location = UNKNOWN_LOC
    assert debug_handle_map(module) == {"f": {0: 2, 1: 3, 2: 4, 3: 5}, "g": {0: 2, 2: 1, 3: 2, 4: 6}}


def test_indices_are_those_of_the_file() -> None:
    module = parse(TEXT)
    for plan in emit(module).program.execution_plan:
        assert len(origins(module)[plan.name]) == len(plan.chains[0].instructions)
    assert [row.operator for row in origins(module)["f"]] == ["x::a", "jump_false", "jump", "free"]


def test_json() -> None:
    assert origins_json(parse(TEXT))["g"][0] == {
        "instruction": 0,
        "operator": "x::a",
        "debug_handle": 2,
        "module": "m",
        "source": [{"file": "model.py", "line": 3, "function": "", "code": ""}],
    }


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


def test_what_a_layer_is_lowered_to_has_the_layer_s_handle() -> None:
    program = to_edge(torch.export.export(Layers().eval(), (torch.randn(2, 3),))).to_executorch()
    rows = origins(program.module)["forward"]
    assert [(row.operator, row.handle, row.module) for row in rows] == [
        ("aten::mm.out", 1, "first"),
        ("aten::add.out", 1, "first"),
        ("aten::mm.out", 2, "second"),
        ("aten::add.out", 2, "second"),
    ]
    assert program.debug_handle_map == {"forward": {0: 1, 1: 1, 2: 2, 3: 2}}
    frame = rows[0].frames[-1]
    assert isinstance(frame, Frame)
    assert frame.context == "return self.second(self.first(x))"
