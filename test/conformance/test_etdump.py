"""ETDump files both ways: stock's Inspector opens ours, and ours opens stock's, with the same rows and values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from example_models import build
from torch import nn

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import to_edge_transform_and_lower
from et_vm.devtools.inspector import Inspector
from et_vm.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")  # of stock about itself

TIMES = ("p10", "p50", "p90", "avg", "min", "max")


class Several(nn.Module):
    """Results of several types, one of half precision."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x @ x.T).relu().half(), x.argmax(), y + 1, x.sum() > 0


def _program(name: str) -> tuple[torch.export.ExportedProgram, tuple[Any, ...]]:
    if name == "several":
        inputs = (torch.randn(3, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([3]))
        return torch.export.export(Several(), inputs), inputs
    model = build(name)
    return model.program, tuple(torch.as_tensor(one) for one in model.inputs)


MODELS = ["digits", "mobilenet_v2", "bert", "llama", "vit"]


@pytest.fixture(scope="module", params=["several", *MODELS])
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["portable", "xnnpack"])
def file(model: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for both runtimes."""
    program, _ = _program(model)
    partitioner = XnnpackPartitioner() if request.param == "xnnpack" else None
    path = tmp_path_factory.mktemp("etdump") / "model.pte"
    to_edge_transform_and_lower(program, partitioner=partitioner).to_executorch().save(path)
    return path


def _record(runtime: Any, file: Path, inputs: tuple[Any, ...], folder: Path) -> tuple[Path, Path]:
    """Two executions."""
    program = runtime.load_program(str(file), enable_etdump=True, debug_buffer_size=1 << 29)
    method = program.load_method("forward")
    for _ in range(2):
        method.execute(list(inputs))
    paths = folder / "run.etdp", folder / "run.bin"
    program.write_etdump_result_to_file(*map(str, paths))
    return paths


def _stock_inspector(paths: tuple[Path, Path]) -> Any:
    from executorch.devtools import Inspector as StockInspector

    return StockInspector(etdump_path=str(paths[0]), debug_buffer_path=str(paths[1]))


def _check(paths: tuple[Path, Path], *, values: bool = True) -> Inspector:
    """Both inspectors say the same of one file."""
    ours, stock = Inspector(paths[0], debug_buffer_path=paths[1]), _stock_inspector(paths)
    assert [block.name for block in ours.event_blocks] == [block.name for block in stock.event_blocks]
    for mine, other in zip(ours.event_blocks, stock.event_blocks, strict=True):
        assert [event.name for event in mine.events] == [event.name for event in other.events]
        for event, wanted in zip(mine.events, other.events, strict=True):
            assert event.is_delegated_op == wanted.is_delegated_op
            assert event.delegate_debug_identifier == wanted.delegate_debug_identifier
            if len(event.start_time) > len(wanted.start_time):
                # Of parts of a delegate that have one identifier, stock's keeps the last.
                assert set(event.start_time) > set(wanted.start_time)
                continue
            assert event.start_time == wanted.start_time
            for name in ("raw", *TIMES):
                # Stock's subtracts times that it has converted to floats.
                expected = pytest.approx(getattr(wanted.perf_data, name), rel=1e-3, abs=1e-6)
                assert getattr(event.perf_data, name) == expected, name
            if values:
                _same(event.debug_data, wanted.debug_data)
    return ours


def _same(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        if isinstance(other, torch.Tensor):
            np.testing.assert_array_equal(one, other.numpy())
        elif isinstance(other, list):
            _same(one, other)
        else:
            assert one == other or (math.isnan(one) and math.isnan(other))


@pytest.mark.slow
def test_stock_opens_ours(model: str, file: Path, tmp_path: Path) -> None:
    _, inputs = _program(model)
    ours = _check(_record(Runtime(), file, inputs, tmp_path))
    names = [event.name for block in ours.event_blocks for event in block.events]
    assert {"Method::init", "Program::load_method", "Method::execute"} <= set(names)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, indirect=True)  # stock writes no tensors of half precision
def test_ours_opens_stocks(model: str, file: Path, tmp_path: Path) -> None:
    """Instructions have the names that ours gives them."""
    from executorch.runtime import Runtime as StockRuntime

    _, inputs = _program(model)
    theirs = _check(_record(StockRuntime.get(), file, inputs, tmp_path))
    ours = Inspector(_record(Runtime(), file, inputs, tmp_path)[0])
    rows = [
        [event.name for event in one.event_blocks[-1].events if not event.is_delegated_op]
        for one in (ours, theirs)
    ]
    assert rows[0] == rows[1]
