"""LSTMs and GRUs as torch exports them, over whole sequences and in chunks, with their state in buffers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from support.modules import parse
from torch import Tensor, nn
from torch.export import ExportedProgram
from whole_copies import whole_copies
from xdsl.context import Context

from et_backends.native.compiler import NativePartitioner
from et_ir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from et_ir.delegation.partitioner import Partitioner
from et_ir.dialects.control import ScanOp
from et_ir.driver.pipelines import core_aten_passes, edge_passes
from et_ir.passes.aten_to_core.decompose.chain import UNROLL
from et_ir.targets.lookup import DEFAULT
from et_schema.pte import read_pte
from et_vm.runtime import Runtime
from examples.models import recurrent

CHUNKS = 4


@cache
def network(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    return getattr(recurrent, name)()


def exported(module: nn.Module, arguments: tuple[Any, ...], **options: Any) -> ExportedProgram:
    with warnings.catch_warnings(action="ignore"):  # about torch's own flat weights
        return torch.export.export(module, arguments, **options)


@cache
def compiled(name: str, target: str) -> ExecutorchProgramManager:
    program = exported(*network(name))
    return to_edge(program).to_executorch(ExecutorchBackendConfig(target=target))


def chunks() -> list[Tensor]:
    torch.manual_seed(2)
    return [torch.randn(1, 3, recurrent.INPUTS) for _ in range(CHUNKS)]


def in_chunks() -> list[Tensor]:
    """Eager results of the segments, one after the other, from states of zero."""
    module, _ = network("streaming")
    with torch.no_grad():
        for buffer in module.buffers():
            buffer.zero_()
        found = [module(chunk) for chunk in chunks()]
        for buffer in module.buffers():
            buffer.zero_()
    return found


def check(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(list(actual), list(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
@pytest.mark.parametrize("kernels", ["portable", "aten"])
@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_sequences_on_our_vm(name: str, target: str, kernels: str, poison: bool) -> None:
    module, arguments = network(name)
    program = Runtime.get().load_program(compiled(name, target).buffer, kernels=kernels, poison=poison)
    with torch.no_grad():
        check(program.load_method("forward").execute(arguments), module(*arguments))


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_sequences_on_the_stock_runtime(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    module, arguments = network(name)
    compiled(name, DEFAULT).save(tmp_path / "net.pte")
    with torch.no_grad():
        check(stock.run(tmp_path / "net.pte", arguments), module(*arguments))


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
@pytest.mark.parametrize("kernels", ["portable", "aten"])
@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
def test_chunks_on_our_vm(target: str, kernels: str, poison: bool) -> None:
    expected = in_chunks()
    program = Runtime.get().load_program(compiled("streaming", target).buffer, kernels=kernels, poison=poison)
    method = program.load_method("forward")
    for _ in range(2):
        check([method.execute([chunk])[0] for chunk in chunks()], expected)
        method.state.reset()


def test_chunks_on_the_stock_runtime(stock: StockRuntime, tmp_path: Path) -> None:
    expected = in_chunks()
    compiled("streaming", DEFAULT).save(tmp_path / "net.pte")
    check([stock.run_on(tmp_path / "net.pte", [chunk])[0] for chunk in chunks()], expected)


@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
def test_new_states_are_computed_where_the_old_ones_were(target: str) -> None:
    assert "aten::copy_" not in whole_copies(compiled("streaming", target).module)


def instructions(cell: Callable[..., nn.Module], steps: int, *partitioners: Partitioner) -> int:
    """The instructions of a layer over so many steps, in both directions."""
    module = cell(3, 4, bidirectional=True, batch_first=True).eval()
    program = exported(module, (torch.zeros(1, steps, 3),))
    made = to_edge_transform_and_lower(program, partitioner=partitioners)
    made = made.to_executorch(ExecutorchBackendConfig(target="et-vm"))
    (plan,) = read_pte(made.buffer).program.execution_plan
    return sum(len(chain.instructions) for chain in plan.chains)


def test_state_in_buffers_goes_through_a_loop() -> None:
    """A program with writes keeps its recurrent layers whole until they become loops."""
    torch.manual_seed(4)
    module = recurrent.Streaming().eval()
    inputs = [torch.randn(1, UNROLL + 4, recurrent.INPUTS) for _ in range(CHUNKS)]
    made = to_edge(exported(copy.deepcopy(module), (inputs[0],)))
    assert any(isinstance(op, ScanOp) for op in made.module.walk())
    method = Runtime.get().load_program(made.to_executorch().buffer, poison=True).load_method("forward")
    with torch.no_grad():
        for one in inputs:
            check(method.execute([one]), [module(one)])


NATIVE = NativePartitioner(instruction_sets=["x86-64-v3"])


@pytest.mark.parametrize(
    ("cell", "partitioners"),
    [(nn.LSTM, ()), (nn.GRU, ()), (nn.RNN, ()), (nn.RNN, (NATIVE,))],
    ids=["lstm", "gru", "rnn", "native"],
)
def test_number_of_instructions_does_not_grow_with_steps(
    cell: Callable[..., nn.Module], partitioners: Sequence[Partitioner]
) -> None:
    assert instructions(cell, UNROLL + 1, *partitioners) == instructions(cell, 4 * UNROLL, *partitioners)


@pytest.mark.parametrize("unroll", [0, UNROLL + 1])
def test_steps_that_are_unrolled_are_an_option(unroll: int) -> None:
    program = exported(nn.RNN(3, 4).eval(), (torch.zeros(UNROLL + 1, 1, 3),))
    edge = to_edge(program, compile_config=EdgeCompileConfig(unroll=unroll))
    loops = [op for op in edge.module.walk() if op.name == "control.scan"]
    assert len(loops) == (unroll == 0)


ANY_LENGTH = """
func.func @forward(
    %x: tensor<?x2x3xf32, #program.sizes<s>>, %h: tensor<2x2x4xf32>, %c: tensor<2x2x4xf32>,
    %wi: tensor<16x3xf32>, %wh: tensor<16x4xf32>, %bi: tensor<16xf32>, %bh: tensor<16xf32>
) -> (tensor<?x2x8xf32, #program.sizes<s>>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
attributes {program.ranges = #program.ranges<s from 0 to 30>} {
  %y, %hn, %cn = aten.lstm.input %x, [%h, %c], [%wi, %wh, %bi, %bh, %wi, %wh, %bi, %bh]
    {has_biases = true, num_layers = 1, dropout = 0.0, train = false, bidirectional = true, batch_first = false}
    : (tensor<?x2x3xf32, #program.sizes<s>>, tensor<2x2x4xf32>, tensor<2x2x4xf32>,
       tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>,
       tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>)
    -> (tensor<?x2x8xf32, #program.sizes<s>>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
  func.return %y, %hn, %cn
    : tensor<?x2x8xf32, #program.sizes<s>>, tensor<2x2x4xf32>, tensor<2x2x4xf32>
}
"""


def of_any_length(*partitioners: Partitioner, target: str = DEFAULT) -> ExecutorchProgramManager:
    module = parse(ANY_LENGTH)
    for one in (*core_aten_passes(), *edge_passes()):
        one.apply(Context(), module)
    edge = EdgeProgramManager(module)
    for partitioner in partitioners:
        edge = edge.to_backend(partitioner)
    return edge.to_executorch(ExecutorchBackendConfig(target=target))


def calls_of_lengths() -> list[tuple[list[Tensor], Any]]:
    """Inputs of the layer of any length, and what eager makes of them."""
    torch.manual_seed(3)
    states, weights = torch.randn(2, 2, 2, 4), [torch.randn(16, 3), torch.randn(16, 4), *torch.randn(2, 16)]
    found: list[tuple[list[Tensor], Any]] = []
    for steps in (7, 1, 30):
        x = torch.randn(steps, 2, 3)
        results = torch.lstm(x, list(states), [*weights, *weights], True, 1, 0.0, False, True, False)
        found.append(([x, *states, *weights], results))
    return found


@pytest.mark.parametrize("partitioners", [(), (NativePartitioner(),)], ids=["portable", "native"])
def test_length_known_at_run_time(partitioners: Sequence[Partitioner]) -> None:
    made = of_any_length(*partitioners, target="et-vm" if partitioners else DEFAULT)
    program = Runtime.get().load_program(made.buffer, poison=True, allow_native=bool(partitioners))
    method = program.load_method("forward")
    for inputs, expected in calls_of_lengths():
        check(method.execute(inputs), expected)


def test_length_known_at_run_time_on_the_stock_runtime(stock: StockRuntime, tmp_path: Path) -> None:
    of_any_length().save(tmp_path / "net.pte")
    for inputs, expected in calls_of_lengths():
        check(stock.run(tmp_path / "net.pte", inputs), expected)


def test_length_known_at_run_time_is_not_exported() -> None:
    """Torch computes the sizes of the results step by step; a program may have such a layer nevertheless."""
    with pytest.raises(Exception, match="specialized it to be a constant"):
        exported(
            nn.GRU(3, 4).eval(),
            (torch.zeros(5, 2, 3),),
            dynamic_shapes={"input": {0: torch.export.Dim("steps", min=2, max=9)}},
        )
