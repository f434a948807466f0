"""Quantized programs through our partitioner for XNNPACK: on et-vm and on the stock runtime, beside stock's files."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from quantized_nets import NETS, made
from stock import StockRuntime
from stock_xnnpack_programs import calibrated, lowered_program
from torch.export import ExportedProgram

from et_ir import to_edge_transform_and_lower
from et_ir.backends.xnnpack.partitioner import XnnpackPartitioner
from et_vm.runtime import Runtime

GRANULARITIES = ["per channel", "per tensor"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Without what torchao says of itself."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(action="ignore"):
        yield
    logging.disable(logging.NOTSET)


@cache
def quantized(name: str, granularity: str) -> tuple[ExportedProgram, tuple[Any, ...]]:
    """A network quantized by stock's quantizer."""
    module, inputs = made(name)
    converted = calibrated(module, inputs, per_channel=granularity == "per channel")
    return torch.export.export(converted, inputs), inputs


def step(program: ExportedProgram) -> float:
    """The largest scale of the program, of which a result may be one off."""
    scales = [node.args[1] for node in program.graph.nodes if "quantize_per_tensor" in str(node.target)]
    return max(scale for scale in scales if isinstance(scale, float))


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", NETS)
def test_results(name: str, granularity: str, stock: StockRuntime, tmp_path: Path) -> None:
    program, inputs = quantized(name, granularity)
    with torch.no_grad():
        expected = program.module()(*inputs)
    edge = to_edge_transform_and_lower(program, partitioner=XnnpackPartitioner())
    assert not [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    file = edge.to_executorch().buffer
    (found,) = Runtime.get().load_program(file, poison=True).load_method("forward").execute(list(inputs))
    assert (torch.as_tensor(found) - expected).abs().max() <= step(program) * 1.001
    path = tmp_path / "ours.pte"
    path.write_bytes(file)
    (ours,) = stock.run(path, inputs)
    assert (ours - expected).abs().max() <= step(program) * 1.001
    theirs = lowered_program(program)
    assert len(file) <= 1.05 * len(theirs)
    (tmp_path / "theirs.pte").write_bytes(theirs)
    (reference,) = stock.run(tmp_path / "theirs.pte", inputs)
    assert (ours - reference).abs().max() <= step(program) * 1.001


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet18", "vit"])
def test_models_have_the_bits_of_stocks_files(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    module, inputs = getattr(import_module(f"examples.models.{name}"), name)()[:2]
    converted = calibrated(module, inputs)
    edge = to_edge_transform_and_lower(
        torch.export.export(converted, inputs), partitioner=XnnpackPartitioner()
    )
    assert [op.name for op in edge.module.walk() if op.name == "backend.call"] == ["backend.call"]
    assert not [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    ours, theirs = tmp_path / "ours.pte", tmp_path / "theirs.pte"
    edge.to_executorch().save(ours)
    theirs.write_bytes(lowered_program(torch.export.export(converted, inputs)))
    assert ours.stat().st_size <= 1.05 * theirs.stat().st_size
    found, expected = (stock.run(path, inputs)[0] for path in (ours, theirs))
    assert torch.equal(found, expected)
