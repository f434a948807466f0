"""The compiler's Python API: what users of ExecuTorch call, and what they get."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram, export
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
)
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.executorch import KernelCallOp
from et_ir.driver.display import install_formatters
from et_ir.driver.observer import Observer
from et_ir.emit.data_files import DataFileError
from et_ir.frontend import UnsupportedProgram, import_program
from et_ir.passes.memory.plan_memory.infeasible import InfeasibleMemory
from et_schema.pte import read_pte
from et_vm.runtime import Runtime
from examples.passes.double_to_add import DoubleToAddPass


class Net(nn.Module):
    """A layer, with the state of how often it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return torch.relu(self.fc(x)) * 2 + self.calls


class Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture
def program() -> ExportedProgram:
    torch.manual_seed(0)
    return export(Net().eval(), (X,))


def calls(module: ModuleOp) -> list[str]:
    return [op.key for op in module.walk() if isinstance(op, KernelCallOp)]


def run(buffer: bytes, *inputs: Any, method: str = "forward") -> list[Any]:
    return list(Runtime.get().load_program(buffer).load_method(method).execute(inputs))


def test_one_program_is_forward_and_a_dict_gives_names(program: ExportedProgram) -> None:
    assert to_edge(program).methods == {"forward"}
    both = to_edge({"net": program, "twice": export(Twice(), (X,))})
    assert both.methods == {"net", "twice"}
    lowered = both.to_executorch()
    assert lowered.methods == {"net", "twice"}
    (actual,) = run(lowered.buffer, X, method="twice")
    assert torch.equal(actual, X * 2)


def test_lowering_leaves_its_start_as_it_was(program: ExportedProgram) -> None:
    """Also with a mutable buffer, where the stock compiler fails the second time."""
    manager = to_edge(program)
    before = str(manager.module)
    first = manager.to_executorch()
    assert str(manager.module) == before
    assert manager.to_executorch().buffer == first.buffer
    assert manager.to_executorch(ExecutorchBackendConfig(emit_stacktrace=True)).buffer != first.buffer


def test_the_file_can_be_had_in_three_ways(program: ExportedProgram, tmp_path: Path) -> None:
    lowered = to_edge(program).to_executorch()
    lowered.save(tmp_path / "net.pte")
    stream = io.BytesIO()
    lowered.write_to_file(stream)
    assert (tmp_path / "net.pte").read_bytes() == lowered.buffer == stream.getvalue()


def test_passes_of_the_user(program: ExportedProgram) -> None:
    """Given to `to_edge`, to its twin, to the manager, or on the way to the file."""
    double = [DoubleToAddPass()]
    managers = (
        to_edge(program, compile_config=EdgeCompileConfig(transform_passes=double)),
        to_edge_transform_and_lower(program, transform_passes=double),
        to_edge(program).transform(double),
    )
    expected = calls(managers[0].to_executorch().module)
    assert expected.count("aten::add.out") > calls(to_edge(program).to_executorch().module).count(
        "aten::add.out"
    )
    for manager in managers:
        assert isinstance(manager, EdgeProgramManager)
        assert calls(manager.to_executorch().module) == expected
    late = to_edge(program).to_executorch(ExecutorchBackendConfig(passes=double))
    assert calls(late.module) == expected


@dataclass(frozen=True)
class ToAtenPass(ModulePass):
    """Puts back an operator of the level before."""

    name = "to-aten"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, edge.ReluOp):
                whole = aten.ReluOp.make(inner.self)
                inner.parent_block().insert_op_before(whole, inner)
                inner.result.replace_all_uses_with(whole.result)
                inner.detach()
                inner.erase()
                return


def test_what_passes_of_the_user_leave_is_checked(program: ExportedProgram) -> None:
    with pytest.raises(PassFailedException, match=r"edge_c1.*aten"):
        to_edge(program, compile_config=EdgeCompileConfig(transform_passes=[ToAtenPass()]))
    with pytest.raises(PassFailedException, match="edge_c1"):
        to_edge(program).transform([ToAtenPass()])
    with pytest.raises(PassFailedException, match="backend_c1"):
        to_edge(program).to_executorch(ExecutorchBackendConfig(passes=[ToAtenPass()]))
    unchecked = EdgeCompileConfig(_check_ir_validity=False, transform_passes=[ToAtenPass()])
    assert any(isinstance(op, aten.ReluOp) for op in to_edge(program, compile_config=unchecked).module.walk())


def test_options_reach_the_file(program: ExportedProgram) -> None:
    config = ExecutorchBackendConfig(
        alloc_graph_input=False, alloc_graph_output=False, emit_stacktrace=True, tensor_alignment=64
    )
    plan = read_pte(to_edge(program).to_executorch(config).buffer).program.execution_plan[0]
    assert plan.values[plan.inputs[0]].val.allocation_info is None
    assert plan.values[plan.outputs[0]].val.allocation_info is None
    assert plan.chains[0].stacktrace[0].items[-1].context


def test_memories_and_what_is_in_them(program: ExportedProgram) -> None:
    manager = to_edge(program)
    pins = {"forward.inputs.0": "dram", "forward.state.calls": "dram", "forward.modules.fc": "sram"}
    config = ExecutorchBackendConfig(memory="sram:id=1,size=1K;dram:id=2", pins=pins, check_plan=True)
    lowered = manager.to_executorch(config)
    plan = read_pte(lowered.buffer).program.execution_plan[0]
    assert plan.values[plan.inputs[0]].val.allocation_info.memory_id == 2
    places = {
        op.attributes["executorch.bank"]: op.place
        for op in lowered.module.walk()
        if "executorch.bank" in op.attributes
    }
    assert {str(bank): place[0] for bank, place in places.items()} == {'"dram"': 2, '"sram"': 1}
    torch.testing.assert_close(run(lowered.buffer, X)[0], program.module()(X))


def test_memory_of_the_caller(program: ExportedProgram) -> None:
    config = ExecutorchBackendConfig(caller_memory=["forward.outputs"])
    plan = read_pte(to_edge(program).to_executorch(config).buffer).program.execution_plan[0]
    assert plan.values[plan.inputs[0]].val.allocation_info is not None
    assert plan.values[plan.outputs[0]].val.allocation_info is None


def test_memory_that_does_not_do(program: ExportedProgram) -> None:
    with pytest.raises(
        InfeasibleMemory, match=r"(?s)the smallest sufficient capacity is.*test_managers.py:\d+"
    ):
        to_edge(program).to_executorch(ExecutorchBackendConfig(memory="sram:id=1,size=64"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "sram"}, "'sram' has no id"),
        ({"memory": "sram:1"}, "not id=N"),
        ({"memory": "sram:id=1,size=none"}, "not a size"),
        ({"memory": "sram:id=1", "pins": {"forward.inputs": "dram"}}, "no bank 'dram'"),
        ({"pins": {"forward.inputs": "dram"}}, "no bank 'dram'"),
        ({"memory": "sram:id=1", "pins": {"inputs": "sram"}}, "expected METHOD.inputs"),
        ({"caller_memory": ['forward.state."']}, "expected METHOD.inputs"),
        ({"memory_planning": "none"}, "unknown planner 'none'"),
    ],
)
def test_memory_that_there_cannot_be(program: ExportedProgram, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_edge(program).to_executorch(ExecutorchBackendConfig(**options))


def test_a_target_without_the_kernels() -> None:
    class Gamma(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.airy_ai(x)

    with pytest.raises(PassFailedException, match=r"test_managers.py:\d+.*aten::special_airy_ai.out"):
        to_edge(export(Gamma(), (X,))).to_executorch()


def test_what_cannot_be_imported() -> None:
    class Unsigned(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(torch.uint16).to(torch.float32)

    with pytest.raises(UnsupportedProgram, match="uint16"):
        to_edge(export(Unsigned(), (X,)))
    with pytest.raises(TypeError, match=r"ExportedProgram"):
        to_edge(Twice())  # pyright: ignore[reportArgumentType]


def test_observers_are_told_of_each_pass_and_level(program: ExportedProgram) -> None:
    levels: list[str] = []
    running: list[str] = []

    class Levels(Observer):
        def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
            running.append(one.name)

        def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
            assert running.pop() == one.name

        def reached(self, level: str, module: ModuleOp) -> None:
            assert isinstance(module, ModuleOp)
            levels.append(level)

    to_edge(program, compile_config=EdgeCompileConfig(observer=Levels())).to_executorch(
        ExecutorchBackendConfig(observer=Levels())
    )
    assert not running
    assert levels == ["aten", "core-aten", "edge", "backend", "executorch"]


def test_modules_of_the_aten_level(program: ExportedProgram) -> None:
    """An imported module lowers as the program that it was imported from, and stays as it is."""
    module = import_program(program)
    text = str(module)
    assert str(to_edge(module).module) == str(to_edge(program).module)
    assert str(to_edge_transform_and_lower(module).module) == str(to_edge(program).module)
    assert str(module) == text


@pytest.mark.parametrize(
    "options",
    [
        {"constant_methods": {"one": 1}},
        {"generate_etrecord": True},
        {"compile_config": EdgeCompileConfig(default_bounds={"s0": 4})},
    ],
    ids=lambda options: next(iter(options)),
)
def test_modules_with_options_of_importing(program: ExportedProgram, options: Any) -> None:
    with pytest.raises(ValueError, match="a module is imported already"):
        to_edge(import_program(program), **options)


def test_operators_that_stay_whole(program: ExportedProgram) -> None:
    """The wheel of the stock runtime has a kernel for `linear`, though it is not Core ATen."""
    assert "aten::linear.out" not in calls(to_edge(program).to_executorch().module)
    for kept in ("linear", "aten.linear", torch.ops.aten.linear.default):
        lowered = to_edge(program, compile_config=EdgeCompileConfig(preserve_ops=[kept])).to_executorch()
        assert "aten::linear.out" in calls(lowered.module)
        assert torch.equal(run(lowered.buffer, X)[0], run(to_edge(program).to_executorch().buffer, X)[0])
    with pytest.raises(ValueError, match="unknown operator liner, did you mean 'linear'"):
        to_edge(program, compile_config=EdgeCompileConfig(preserve_ops=["liner"]))


def test_constant_methods(program: ExportedProgram) -> None:
    values = {
        "get_length": 128,
        "get_name": "net",
        "get_table": torch.arange(100.0),
        "get_many": {"eos": [1, 2], "scale": 0.5, "cached": True},
    }
    lowered = to_edge(program, constant_methods=values).to_executorch()
    assert lowered.methods == {"forward", *values}
    assert run(lowered.buffer, method="get_length") == [128]
    assert run(lowered.buffer, method="get_name") == ["net"]
    (table,) = run(lowered.buffer, method="get_table")
    assert table.tolist() == list(range(100))
    assert run(lowered.buffer, method="get_many") == [1, 2, 0.5, True]
    with pytest.raises(UnsupportedProgram, match="get_nothing"):
        to_edge(program, constant_methods={"get_nothing": object()})
    with pytest.raises(ValueError, match="forward"):
        to_edge(program, constant_methods={"forward": 1})


def test_printing_shows_the_text_and_a_summary(program: ExportedProgram) -> None:
    lowered = to_edge(program)
    for manager, level in ((lowered, "edge"), (lowered.to_executorch(), "executorch")):
        text = str(manager)
        summary, _, body = text.partition("\n")
        ops = sum("= edge." in line or "executorch.kernel_call" in line for line in body.splitlines())
        assert summary == f"{type(manager).__name__}: method forward, {ops} ops"
        assert f"{level}." in body
        assert "@forward" in body
        assert repr(manager) == f"<{summary}>"
        html = manager._repr_html_()
        assert html.startswith(f"<p>{summary}</p><pre>")
        assert "&quot;" in html
        assert '"' not in html
        assert html.index("@forward") < html.index("program.buffer"), "the program comes before its weights"


def test_display_of_delegates(program: ExportedProgram) -> None:
    edge = to_edge_transform_and_lower(program, partitioner=XnnpackPartitioner())
    for manager in (edge, edge.to_executorch()):
        html = manager._repr_html_()
        order = ("@forward", "<th>delegate</th>", "<td>@lowered_0", "<summary>")
        places = [html.index(part) for part in order]
        assert places == sorted(places)
    assert edge.delegation is not None
    assert repr(edge.delegation) == f"<DelegationReport: {edge.delegation.summary}>"
    assert edge.delegation._repr_html_() in edge._repr_html_()
    calls = sum(" backend.call " in line for line in str(edge).splitlines())
    others = sum(" edge." in line for line in str(edge.module).splitlines())
    assert repr(edge).endswith(f", {calls + others} op{'s' * (calls + others != 1)}>"), "blobs are no ops"


def test_modules_in_notebooks(monkeypatch: pytest.MonkeyPatch, program: ExportedProgram) -> None:
    """They are shown as text, which xDSL's own representation is not."""
    shown: dict[str, dict[type, Any]] = {"text/html": {}, "text/plain": {}}

    class Formatter(NamedTuple):
        kinds: dict[type, Any]

        def for_type(self, kind: type, function: Any) -> None:
            self.kinds[kind] = function

    formatters = {name: Formatter(kinds) for name, kinds in shown.items()}
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters=formatters))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    install_formatters()
    module = to_edge(program).module
    assert shown["text/html"][ModuleOp](module).startswith("<pre>func.func @forward")
    printed: list[str] = []
    shown["text/plain"][ModuleOp](module, SimpleNamespace(text=printed.append), False)
    assert printed == [str(module)]


def test_arguments_of_other_kinds(program: ExportedProgram) -> None:
    """Each error says what to write instead, in terms of the API."""
    wrong: Any
    with pytest.raises(
        TypeError, match=r"is a Net, expected an ExportedProgram; export it first: torch\.export"
    ):
        to_edge(wrong := Net())
    for wrong in ("xnnpack", ["xnnpack"], {"forward": "xnnpack"}, {"forward": ["xnnpack"]}):
        with pytest.raises(TypeError, match=r"make_partitioner\('xnnpack'\) makes one"):
            to_edge_transform_and_lower(program, partitioner=wrong)
        with pytest.raises(TypeError, match=r"make_partitioner\('xnnpack'\) makes one"):
            to_edge(program).to_backend(wrong)
    for wrong, message in ((XnnpackPartitioner, r"XnnpackPartitioner\(\) makes one"), (3, "not int")):
        with pytest.raises(TypeError, match=message):
            to_edge_transform_and_lower(program, partitioner=wrong)
    with pytest.raises(TypeError, match="constant_methods: expected Mapping, got EdgeCompileConfig"):
        to_edge(program, wrong := EdgeCompileConfig())
    with pytest.raises(TypeError, match="config: expected ExecutorchBackendConfig, got EdgeCompileConfig"):
        to_edge(program).to_executorch(wrong)
    for wrong, message in (
        (program, r"compile it first: et_ir\.to_edge"),
        (to_edge(program).to_executorch(), r"give its \.buffer"),
    ):
        with pytest.raises(TypeError, match=message):
            Runtime.get().load_program(wrong)


def test_printing_shortens_large_modules() -> None:
    class Deep(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(100):
                x = torch.tanh(x)
            return x

    lines = str(to_edge(export(Deep(), (X,)))).splitlines()
    assert len(lines) < 70
    (short,) = (line for line in lines if "more lines" in line)
    assert short == f"  … {short.split()[1]} more lines: print(manager.module) shows them all"
    assert lines[-1] == "}"
    shown = sum("tanh" in line for line in lines)
    assert 0 < shown < 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tensor_alignment": 3}, "tensor_alignment: 3 is not a power of two"),
        ({"segment_alignment": 0}, "segment_alignment: 0 is not a power of two"),
        ({"unbounded": "x"}, "unbounded: 'x' is not one of error, runtime"),
    ],
)
def test_values_of_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExecutorchBackendConfig(**options)


def test_data_files_by_a_function(tmp_path: Path) -> None:
    """As in ExecuTorch, names have no ending."""
    exported = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    config = ExecutorchBackendConfig(external_constants=lambda name: "model" if "weight" in name else "b.ptd")
    to_edge(exported).to_executorch(config).write_tensor_data_to_file(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.ptd", "model.ptd"]
    config = ExecutorchBackendConfig(external_constants=lambda _: "../model")
    with pytest.raises(DataFileError, match="not a file name without folders"):
        to_edge(exported).to_executorch(config).write_tensor_data_to_file(tmp_path)
