"""Real models, end to end: our files and the stock compiler's, on both runtimes, against eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from example_models import Model
from stock import StockRuntime
from support.accuracy import assert_accurate

from et_vm.run.validation import validate
from et_vm.runtime import Runtime

Command = Callable[..., str]


def check(actual: Sequence[Any], model: Model) -> None:
    assert_accurate(list(actual), model.truth)


def run_vm(path: Path, model: Model, *, kernels: str, poison: bool = False) -> Sequence[Any]:
    method = Runtime.get().load_program(path, kernels=kernels, poison=poison).load_method("forward")
    return method.execute(model.inputs)


@pytest.fixture(scope="session")
def disassembled(
    model: Model, stock_file: Path, command: Command, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The stock compiler's file as text."""
    text = tmp_path_factory.mktemp(f"{model.name}-stock") / "stock.mlir"
    command("et-translate", "--pte-to-mlir", stock_file, "-o", text)
    return text


@pytest.fixture(scope="session")
def reemitted(disassembled: Path, command: Command) -> Path:
    """The stock compiler's file after a trip through text."""
    path = disassembled.with_suffix(".pte")
    command("et-translate", "--mlir-to-pte", disassembled, "-o", path)
    return path


def test_outputs_have_something_to_compare(model: Model) -> None:
    """Outputs that had decayed towards zero would pass any comparison with an absolute tolerance."""
    for value in model.expected:
        assert 0.02 < value.std() < 20
        assert value.isfinite().all()


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
@pytest.mark.parametrize("kernels", ["portable", "aten"])
def test_our_file_on_our_vm(model: Model, our_file: Path, kernels: str, poison: bool) -> None:
    check(run_vm(our_file, model, kernels=kernels, poison=poison), model)


def test_our_file_on_our_vm_twice(model: Model, our_file: Path) -> None:
    """A second execution starts from an arena full of the first one's leftovers."""
    method = Runtime.get().load_program(our_file).load_method("forward")
    first = method.execute(model.inputs)
    again = method.execute(model.inputs)
    torch.testing.assert_close(again, first, rtol=0, atol=0)


def test_our_file_on_stock_runtime(model: Model, our_file: Path, stock: StockRuntime) -> None:
    check(stock.run(our_file, model.inputs), model)


def test_our_file_survives_text(model: Model, our_file: Path, command: Command, tmp_path: Path) -> None:
    text, back = tmp_path / "ours.mlir", tmp_path / "back.pte"
    command("et-translate", "--pte-to-mlir", our_file, "-o", text)
    command("et-translate", "--mlir-to-pte", text, "-o", back)
    assert back.read_bytes() == our_file.read_bytes()


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
@pytest.mark.parametrize("kernels", ["portable", "aten"])
def test_stock_file_on_our_vm(model: Model, stock_file: Path, kernels: str, poison: bool) -> None:
    check(run_vm(stock_file, model, kernels=kernels, poison=poison), model)


@pytest.mark.parametrize("kernels", ["portable", "aten"])
def test_reemitted_stock_file_on_our_vm(model: Model, reemitted: Path, kernels: str) -> None:
    check(run_vm(reemitted, model, kernels=kernels), model)


def test_reemitted_stock_file_on_stock_runtime(model: Model, reemitted: Path, stock: StockRuntime) -> None:
    check(stock.run(reemitted, model.inputs), model)


def test_files_are_valid(our_file: Path, stock_file: Path, stock_xnnpack_file: Path) -> None:
    """Those with delegates, too, whose results lie where dead values were."""
    for path in (our_file, stock_file, stock_xnnpack_file):
        found = validate(memoryview(path.read_bytes()))
        assert [str(error) for error in (*found.problems, *found.clashes)] == []


def test_disassembly_verifies(disassembled: Path, command: Command) -> None:
    command(
        "et-opt", "-p", "verify-executorch", disassembled, "-o", disassembled.with_suffix(".verified.mlir")
    )
