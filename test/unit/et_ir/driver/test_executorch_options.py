"""Options of ExecuTorch's configurations, as its scripts write them."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram, export
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    MemoryPlanningPass,
    to_edge,
    to_edge_transform_and_lower,
)
from et_ir.diagnostics import PassRaised
from et_ir.dialects.edge import ops as edge
from et_ir.driver.executorch_options import OptionWithoutEffect
from et_ir.driver.pipelines import core_aten_passes
from et_ir.passes.verify.verify_core_aten import VerifyCoreAtenPass
from et_vm.runtime import Runtime

X = torch.arange(6.0).reshape(2, 3)


class Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.relu() * 2


@pytest.fixture(scope="module")
def program() -> ExportedProgram:
    return export(Twice(), (X,))


@pytest.mark.parametrize(
    "make",
    [
        lambda: EdgeCompileConfig(_skip_dim_order=False),
        lambda: ExecutorchBackendConfig(
            extract_delegate_segments=True,
            do_quant_fusion_and_const_prop=True,
            run_reinplace_pass=True,
            remove_view_copy=True,
            share_mutable_buffers=True,
            emit_mutable_buffer_names=True,
            external_mutable_weights=False,
            dynamic_memory_planning_mode=0,
            skip_h2d_for_method_inputs=False,
            constant_tensor_alignment=None,
            delegate_alignment=None,
            sym_shape_eval_pass=None,
        ),
        lambda: MemoryPlanningPass(share_mutable_buffers=True, alignment=16),
    ],
)
def test_options_that_say_what_is_the_case(make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EdgeCompileConfig(_skip_dim_order=True), "the dim order is part of a tensor's type"),
        (lambda: ExecutorchBackendConfig(extract_delegate_segments=False), "always in segments"),
        (lambda: ExecutorchBackendConfig(dynamic_memory_planning_mode=1), 'unbounded="runtime"'),
        (lambda: MemoryPlanningPass(alignment=64), "aligned to 16 bytes"),
    ],
)
def test_options_without_effect(make: Any, message: str) -> None:
    with pytest.warns(OptionWithoutEffect, match=message) as caught:
        make()
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to_out_var_pass": print}, "to_out_var_pass=<builtin_function_or_method> has no effect: the pass"),
        ({"sym_shape_eval_pass": print}, "bounds of sizes are in types"),
        ({"external_mutable_weights": True}, "parameters of a training method are in the program"),
        ({"memory_planing": "best"}, "no option 'memory_planing', did you mean 'memory_planning'"),
        ({"memory_planning_pass": print}, "memory_planning_pass is a builtin.*expected an et_ir.MemoryPlan"),
        (
            {"constant_tensor_alignment": 32, "tensor_alignment": 64},
            "constant_tensor_alignment and tensor_alignment say different things",
        ),
    ],
)
def test_options_that_results_could_depend_on(options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ExecutorchBackendConfig(**options)


def test_planners_that_are_no_names() -> None:
    with pytest.raises(TypeError, match="memory_planning_algo is a builtin_function"):
        MemoryPlanningPass(memory_planning_algo=print)  # pyright: ignore[reportArgumentType]
    planners = {"f": MemoryPlanningPass("greedy"), "g": MemoryPlanningPass("naive")}
    with pytest.raises(ValueError, match="all methods have one planner"):
        ExecutorchBackendConfig(**{"memory_planning_pass": planners})  # pyright: ignore[reportArgumentType]


def test_memory_planning_of_all_methods_and_of_one(program: ExportedProgram) -> None:
    both: Any = {"memory_planning_pass": MemoryPlanningPass("greedy", alloc_graph_input=False)}
    config = ExecutorchBackendConfig(**both)
    assert (config.memory_planning, config.alloc_graph_input, config.alloc_graph_output) == (
        "greedy",
        False,
        True,
    )
    one: Any = {"memory_planning_pass": {"g": MemoryPlanningPass(alloc_graph_input=False)}}
    lowered = to_edge({"f": program, "g": program}).to_executorch(ExecutorchBackendConfig(**one))
    loaded = Runtime.get().load_program(lowered.buffer)
    planned = {name: loaded.metadata(name).input_tensor_meta(0).is_memory_planned() for name in "fg"}
    assert planned == {"f": True, "g": False}


def test_alignments(program: ExportedProgram) -> None:
    options: Any = {"constant_tensor_alignment": 64, "delegate_alignment": 256}
    config = ExecutorchBackendConfig(**options)
    assert (config.tensor_alignment, config.delegate_alignment) == (64, 256)
    with pytest.raises(ValueError, match="delegate_alignment"):
        ExecutorchBackendConfig(delegate_alignment=3)


def test_operators_that_may_stay() -> None:
    exceptions: Any = {"_core_aten_ops_exception_list": [torch.ops.aten.linear.default]}
    config = EdgeCompileConfig(**exceptions)
    assert core_aten_passes(config)[-1] == VerifyCoreAtenPass(preserve=("linear",))
    layer = export(nn.Linear(3, 2).eval(), (X,))
    assert "linear" not in str(to_edge(layer, compile_config=config).module)  # it is decomposed all the same
    unknown: Any = {"_core_aten_ops_exception_list": ["linaer"]}
    with pytest.raises(ValueError, match="unknown operator linaer"):
        to_edge(layer, compile_config=EdgeCompileConfig(**unknown))


def test_methods_of_managers(program: ExportedProgram) -> None:
    lowered = to_edge({"f": program, "g": program}, constant_methods={"get_n": 3})
    compiled = lowered.to_executorch()
    for manager in (lowered, compiled):
        assert manager.config_methods == {"get_n"}
        assert manager.methods == {"f", "g", "get_n"}
        alone = manager.exported_program("g")
        assert "@g" in str(alone)
        assert "@f" not in str(alone)
        with pytest.raises(KeyError, match="no method 'forward'; there are: f, g, get_n"):
            manager.exported_program()
    assert [plan.name for plan in compiled.executorch_program.execution_plan] == ["f", "g", "get_n"]
    text = io.StringIO()
    compiled.dump_executorch_program(out=text)
    assert text.getvalue() == str(compiled.module) + "\n"
    tables = io.StringIO()
    compiled.dump_executorch_program(verbose=True, out=tables)
    assert tables.getvalue().startswith("Program(version=0,")


def double_to_add(module: ModuleOp) -> None:
    for op in module.walk():
        if isinstance(op, edge.MulScalarOp):
            added = edge.AddTensorOp.make(op.self, op.self)
            block = op.parent_block()
            assert block is not None
            block.insert_op_before(added, op)
            op.result.replace_all_uses_with(added.result)
            block.erase_op(op)


@pytest.mark.parametrize("passes", [[double_to_add], {"forward": [double_to_add]}])
def test_functions_as_passes(program: ExportedProgram, passes: Any) -> None:
    lowered = to_edge_transform_and_lower(program, passes)
    assert "edge.add.Tensor" in str(lowered.module)
    compiled = to_edge(program).to_executorch(ExecutorchBackendConfig(passes=[double_to_add]))
    assert "aten::add.out" in str(compiled.module)


class NoPass(ModulePass):
    name = "no-pass"


def test_functions_that_are_no_passes(program: ExportedProgram) -> None:
    with pytest.raises(PassFailedException, match="the pass 'repr' returned str: a function changes"):
        to_edge(program).transform([repr])
    with pytest.raises(
        PassRaised, match=r"the pass '<lambda>' raised AttributeError.*test_executorch_options"
    ):
        to_edge(program).transform([lambda module: module.graph])  # pyright: ignore[reportAttributeAccessIssue]
    for wrong, message in ((NoPass, "not the class NoPass"), (3, "not a int")):
        with pytest.raises(TypeError, match=message):
            to_edge(program).transform([wrong])  # pyright: ignore[reportArgumentType]


def test_methods_are_called_with_their_inputs(program: ExportedProgram) -> None:
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    for (result,) in (method(X), method((X,)), method([X]), method.execute((X,))):
        assert torch.equal(result, X * 2)
