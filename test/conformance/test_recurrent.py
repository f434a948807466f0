"""LSTMs and GRUs as torch exports them, over whole sequences and in chunks, with their state in buffers."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from torch import Tensor, nn
from whole_copies import whole_copies

from et_ir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from et_ir.targets.lookup import DEFAULT
from et_vm.runtime import Runtime
from examples.models import recurrent

CHUNKS = 4


@cache
def network(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    return getattr(recurrent, name)()


@cache
def compiled(name: str, target: str) -> ExecutorchProgramManager:
    module, arguments = network(name)
    with warnings.catch_warnings(action="ignore"):  # about torch's own flat weights
        program = torch.export.export(module, arguments)
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
