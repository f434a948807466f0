"""Files of the stock compiler, disassembled, changed and written again: the stock runtime gives the same results."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from torch.export import Dim, export
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from et_ir.dialects.executorch import PlanOp
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.stages import run_passes, run_pipeline
from et_ir.emit import disassemble, write
from et_ir.text import parse_module
from et_ir.universe import dialect_factories
from et_schema.pte import read_pte
from et_vm.runtime import Runtime


class ManyResults(torch.nn.Module):
    """Several outs, lists of outs, absent tensors, literals among the outputs, a view that is planned away."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(8, 4)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x: torch.Tensor, k: int) -> tuple[Any, ...]:
        y = self.fc(x)
        a, b = torch.split(y, 2, dim=1)
        values, indices = torch.topk(y, 2)
        flat = y.view(-1).unsqueeze(0) * 2.0
        return self.norm(y), a[:, [0, 1]], b.clone(), values, indices, flat, x.reshape(-1), k, None


class State(torch.nn.Module):
    """Two buffers, of which one starts with other values than zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        self.scale.mul_(2)
        return self.total + self.scale


class Branch(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def yes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x + 1, x.sum()

        def no(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * 2, x.mean()

        a, b = torch.cond(x.sum() > 0, yes, no, (x,))
        return a * 3 + b


class TwoBranches(torch.nn.Module):
    """Two results of branches that live at the same time, which the stock planner lets overlap."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
        b = torch.cond(x.sum() > 100, lambda x: x * 5, lambda x: x * 7, (x,))
        return a + b


class Map(torch.nn.Module):
    def forward(self, rows: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        from torch._higher_order_ops.map import map as map_op

        return map_op(lambda row, y: row * y + 1, rows, y) * 2


class Dynamic(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        return (x * 2).view(x.shape[0] * 3) + 1, x.shape[0] + 2, torch.nonzero(x)


class Convolution(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.fc = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(torch.relu(self.conv(x)).mean((2, 3)).flatten(1))


def compile_with(
    program: torch.export.ExportedProgram, *, traces: bool = False, delegate: bool = False
) -> bytes:
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        from executorch.exir import (
            EdgeCompileConfig,
            ExecutorchBackendConfig,
            to_edge,
            to_edge_transform_and_lower,
        )

        if delegate:
            from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

            return (
                to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
                .to_executorch()
                .buffer
            )
        edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        return edge.to_executorch(ExecutorchBackendConfig(emit_stacktrace=traces)).buffer


CASES: dict[str, Callable[[], tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any], dict[str, Any]]]] = {
    "many_results": lambda: (ManyResults(), (torch.randn(2, 8), 3), {}, {}),
    "state": lambda: (State(), (torch.randn(3),), {}, {}),
    "branch": lambda: (Branch(), (torch.randn(2, 3),), {}, {}),
    "map": lambda: (Map(), (torch.randn(2, 3), torch.randn(3)), {}, {}),
    "dynamic": lambda: (
        Dynamic(),
        (torch.randn(2, 3),),
        {"dynamic_shapes": ({0: Dim("b", min=1, max=8)},)},
        {},
    ),
    "traces": lambda: (Convolution(), (torch.randn(1, 3, 8, 8),), {}, {"traces": True}),
    "delegate": lambda: (Convolution(), (torch.randn(1, 3, 8, 8),), {}, {"delegate": True}),
}


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, *(factory() for factory in dialect_factories().values())):
        context.load_dialect(dialect)
    return parse_module(context, text)


def rewritten(data: bytes, pipeline: str = "") -> bytes:
    module = disassemble(read_pte(data))
    module.verify()
    if pipeline:
        run_pipeline(module, pipeline)
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue()


def same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_again_runs_the_same(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(1)
    module, inputs, options, how = CASES[name]()
    with torch.no_grad():
        data = compile_with(export(module.eval(), inputs, **options), **how)
    again = rewritten(data)
    assert rewritten(again) == again
    planned = rewritten(data, "copies-to-views,plan-memory{check=true},link-check,verify-executorch")
    results: list[list[Any]] = []
    for label, content in (("stock", data), ("again", again), ("planned", planned)):
        path = tmp_path / f"{label}.pte"
        path.write_bytes(content)
        results.append(stock.run(path, inputs))
    assert same(results[1], results[0])
    assert same(results[2], results[0])
    assert len(again) <= len(data)
    assert arena(planned) <= arena(data)


def arena(data: bytes) -> int:
    return sum(read_pte(data).program.execution_plan[0].non_const_buffer_sizes)


def test_planning_again_repairs_branches_that_share_memory(stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(1)
    inputs = (torch.randn(2, 3).abs(),)
    data = compile_with(export(TwoBranches(), inputs))
    planned = rewritten(data, "plan-memory{check=true},verify-executorch")
    (tmp_path / "planned.pte").write_bytes(planned)
    (result,) = stock.run(tmp_path / "planned.pte", inputs)
    torch.testing.assert_close(result, TwoBranches()(*inputs))
    # The stock file is wrong, and the contract of the level says so.
    (tmp_path / "stock.pte").write_bytes(data)
    (wrong,) = stock.run(tmp_path / "stock.pte", inputs)
    assert not torch.allclose(wrong, result)
    with pytest.raises(Exception, match="executorch_c9"):
        rewritten(data, "verify-executorch")


METHODS = """
program.buffer mutable @total : tensor<4xf32> = #program.data<f32, [10.0, 20.0, 30.0, 40.0]>
program.buffer mutable @zeros : tensor<4xf32>
func.func @add(%x: tensor<4xf32>) -> tensor<4xf32> {
  %old = program.load @total : tensor<4xf32>
  %new = edge.add.Tensor %old, %x : tensor<4xf32>
  program.store @total, %new : tensor<4xf32>
  func.return %old : tensor<4xf32>
}
func.func @look(%x: tensor<4xf32>) -> tensor<4xf32> {
  %total = program.load @total : tensor<4xf32>
  %zeros = program.load @zeros : tensor<4xf32>
  %1 = edge.add.Tensor %total, %x : tensor<4xf32>
  %2 = edge.add.Tensor %1, %zeros : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


def test_methods_share_state(stock: StockRuntime, tmp_path: Path) -> None:
    module = parse(METHODS)
    run_passes(module, executorch_passes())
    with (tmp_path / "methods.pte").open("wb") as stream:
        write(module, stream)
    one = torch.ones(4)
    start = torch.tensor([10.0, 20.0, 30.0, 40.0])
    # The worker loads the file anew for each call, so each starts from the initial state.
    assert torch.equal(stock.run(tmp_path / "methods.pte", [one], "add")[0], start)
    assert torch.equal(stock.run(tmp_path / "methods.pte", [one], "look")[0], start + 1)
    program = Runtime.get().load_program(tmp_path / "methods.pte")
    add, look = program.load_method("add"), program.load_method("look")
    assert [add.execute([one])[0].tolist() for _ in range(2)] == [start.tolist(), (start + 1).tolist()]
    assert torch.equal(look.execute([0 * one])[0], start + 2)


def test_traces_survive(tmp_path: Path) -> None:
    with torch.no_grad():
        data = compile_with(export(Convolution().eval(), (torch.randn(1, 3, 8, 8),)), traces=True)
    before, after = (
        read_pte(d).program.execution_plan[0].chains[0].stacktrace for d in (data, rewritten(data))
    )
    assert before == after
    module = disassemble(read_pte(data))
    assert any(isinstance(op, PlanOp) and op.stack_traces is not None for op in module.body.block.ops)
