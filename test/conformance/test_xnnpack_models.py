"""The example models compiled for XNNPACK, on the stock runtime, beside what stock's own partitioner leaves out."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from example_models import Model
from stock import StockRuntime

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_backends.xnnpack.format.blob import read_xnnpack
from et_ir import to_edge_transform_and_lower
from et_schema.program import KernelCall
from et_schema.pte import PteFile, read_pte
from et_vm.runtime import Runtime
from examples.artefacts import digest, keep


def compile_stock(program: torch.export.ExportedProgram) -> bytes:
    with warnings.catch_warnings(action="ignore"):  # about its own use of deprecated functions
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
            XnnpackPartitioner as StockPartitioner,
        )
        from executorch.exir import to_edge_transform_and_lower as lower

        return lower(copy.deepcopy(program), partitioner=[StockPartitioner()]).to_executorch().buffer


@pytest.fixture(scope="session")
def delegated(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(f"{model.name}-xnnpack") / "ours.pte"
    to_edge_transform_and_lower(model.program, partitioner=XnnpackPartitioner()).to_executorch().save(path)
    return path


@pytest.fixture(scope="session")
def stock_delegated(model: Model, pytestconfig: pytest.Config) -> Path:
    path = pytestconfig.cache.mkdir("stock") / f"{model.name}.xnnpack.pte"

    def make(draft: Path) -> dict[str, Any]:
        draft.write_bytes(compile_stock(model.program))
        return {}

    keep(path, digest(model.content(), version("executorch"), version("torch")), make)
    return path


def kernel_calls(file: PteFile) -> int:
    return sum(
        isinstance(instruction.instr_args, KernelCall)
        for plan in file.program.execution_plan
        for chain in plan.chains
        for instruction in chain.instructions
    )


def test_on_stock_runtime(model: Model, delegated: Path, stock: StockRuntime) -> None:
    torch.testing.assert_close(stock.run(delegated, model.inputs), model.expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kernels", ["portable", "aten"])
@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
def test_on_our_vm(model: Model, delegated: Path, poison: bool, kernels: str) -> None:
    method = Runtime.get().load_program(delegated, poison=poison, kernels=kernels).load_method("forward")
    for _ in range(2):
        torch.testing.assert_close(list(method.execute(model.inputs)), model.expected, rtol=1e-3, atol=1e-3)


def test_twice_on_stock_runtime(model: Model, delegated: Path, stock: StockRuntime) -> None:
    """A second execution finds what the first has left in the memory that graphs share."""
    first = stock.run(delegated, model.inputs)
    torch.testing.assert_close(stock.run_on(delegated, model.inputs), first, rtol=0, atol=0)


@pytest.mark.slow
def test_no_more_is_left_out_than_by_stock(delegated: Path, stock_delegated: Path) -> None:
    ours, theirs = (read_pte(path.read_bytes()) for path in (delegated, stock_delegated))
    assert kernel_calls(ours) <= kernel_calls(theirs)
    assert sum(len(plan.delegates) for plan in ours.program.execution_plan) <= sum(
        len(plan.delegates) for plan in theirs.program.execution_plan
    )


def test_constants_are_named_data(delegated: Path) -> None:
    """Nothing is in the blobs but graphs: weights are stored once, whichever partitions use them."""
    file = read_pte(delegated.read_bytes())
    named = {one.key for one in file.program.named_data}
    for plan in file.program.execution_plan:
        for delegate in plan.delegates:
            assert delegate.processed is not None
            blob = read_xnnpack(file.delegate_data(delegate.processed))
            assert not blob.constants
            assert {one.named_key for one in blob.graph.constant_data[1:]} <= named


def test_survives_text(delegated: Path, command: Callable[..., str], tmp_path: Path) -> None:
    """The file as text, its graphs taken apart and put together, and the file again: byte by byte the same."""
    whole, opened, closed, back = (tmp_path / name for name in ("a.mlir", "b.mlir", "c.mlir", "back.pte"))
    command("et-translate", "--pte-to-mlir", delegated, "-o", whole)
    command("et-opt", "-p", "open-xnnpack", whole, "-o", opened)
    assert "xnnpack.graph" in opened.read_text(encoding="utf-8")
    command("et-opt", "-p", "close-xnnpack", opened, "-o", closed)
    command("et-translate", "--mlir-to-pte", closed, "-o", back)
    assert back.read_bytes() == delegated.read_bytes()
