"""Instructions say which operator of the exported program they come from."""

from __future__ import annotations

from typing import Any

import torch
from support.modules import parse
from torch import nn
from xdsl.dialects.builtin import UNKNOWN_LOC

from et_ir import to_edge
from et_ir.dialects.executorch import KernelCallOp
from et_ir.emit import debug_handle_map, emit, origins, origins_json
from et_ir.locations import Frame
from et_vm.runtime import Runtime
from et_vm.tracer import EventTracer

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
        "node": "",
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
    assert [row["classes"] for row in origins_json(program.module)["forward"]] == [["Linear"]] * 4
    frame = rows[0].frames[-1]
    assert isinstance(frame, Frame)
    assert frame.context == "return self.second(self.first(x))"


class Turns(nn.Module):
    """Every turn has the same source line and the same module."""

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.Tanh()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = self.act(x) + 1
        return x


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.signal = nn.Conv1d(2, 4, 3, padding=1)
        self.image = nn.Conv2d(4, 4, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.image(self.signal(x).unflatten(-1, (3, 4)))


def test_products_of_a_convolution_have_its_handle() -> None:
    """For the stock runtime, small convolutions become copies of patches and products of matrices."""
    program = torch.export.export(Convolutions().eval(), (torch.randn(1, 2, 12),))
    lowered = to_edge(program).to_executorch()
    found = origins(lowered.module)["forward"]
    assert {(row.handle, row.module) for row in found if row.operator == "aten::mm.out"} == {
        (1, "signal"),
        (2, "image"),
    }
    assert {(row.handle, row.module) for row in found} == {(1, "signal"), (2, "image")}
    assert not any(row.operator == "aten::convolution.out" for row in found)
    assert all(row.frames for row in found)


def test_the_turns_of_a_loop_have_handles_of_their_own() -> None:
    program = to_edge(torch.export.export(Turns(), (torch.randn(2, 3),))).to_executorch()
    rows = origins(program.module)["forward"]
    assert [(row.operator, row.node, row.handle) for row in rows] == [
        ("aten::tanh.out", "tanh", 1),
        ("aten::add.Scalar_out", "add", 2),
        ("aten::tanh.out", "tanh_1", 3),
        ("aten::add.Scalar_out", "add_1", 4),
        ("aten::tanh.out", "tanh_2", 5),
        ("aten::add.Scalar_out", "add_2", 6),
    ]
    assert {row.frames for row in rows if "tanh" in row.operator} == {rows[0].frames}


class Branches(nn.Module):
    """Both branches and their caller call one operator."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.sin()
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.sin().cos(), (x,)).sin()


def test_nodes_of_branches_are_told_apart() -> None:
    program = to_edge(torch.export.export(Branches(), (torch.randn(2, 3),))).to_executorch()
    rows = [row for row in origins(program.module)["forward"] if row.operator == "aten::sin.out"]
    assert [row.node.rpartition(".")[0] for row in rows] == ["", "true_graph_0", "false_graph_0", ""]
    assert len({row.node for row in rows}) == len({row.handle for row in rows}) == 4


def test_methods_number_their_own_nodes() -> None:
    """Two methods trace the same lines to nodes of the same names."""
    methods = {name: torch.export.export(Turns(), (torch.randn(2, n),)) for name, n in (("f", 3), ("g", 4))}
    handles = to_edge(methods).to_executorch().debug_handle_map
    assert [*handles["f"].values(), *handles["g"].values()] == list(range(1, 13))


def test_instructions_compute_what_their_nodes_compute() -> None:
    """A comparison of what instructions write with what nodes compute finds each value under the name of its node."""
    inputs = (torch.randn(2, 3),)
    exported = torch.export.export(Turns(), inputs)
    program = to_edge(exported).to_executorch()
    expected: dict[str, torch.Tensor] = {}

    class Interpreter(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            expected[n.name] = super().run_node(n)
            return expected[n.name]

    Interpreter(exported.graph_module).run(*inputs)
    written: dict[int, Any] = {}

    class Values(EventTracer):
        wants_values = True

        def on_value(self, method: str, index: int, register: int, value: Any) -> None:
            written[index] = value.array.copy()

    method = Runtime.get().load_program(program.buffer, tracer=Values()).load_method("forward")
    method.execute(list(inputs))
    rows = origins(program.module)["forward"]
    assert len(written) == len(rows) == 6
    for row in rows:
        torch.testing.assert_close(torch.from_numpy(written[row.instruction]), expected[row.node])
