"""Stock files delegated to XNNPACK, on the VM: against eager and against stock's XNNPACK.

Results are to agree within 1e-3 or, where numbers are quantized, within a step of the grid; those of halves within the
last bits of a half.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from torch.utils import _pytree as pytree

import stock_xnnpack_programs
from example_models import Model
from stock import StockRuntime
from stock_xnnpack_programs import (
    HALVES,
    SINGLES,
    STATIC,
    Perceptron,
    calibrated,
    in_blocks,
    lowered,
)

from et_backends.xnnpack.format.blob import read_xnnpack
from et_backends.xnnpack.format.graph import XNNDatatype
from et_backends.xnnpack.format.nodes import kind_name, tensor_of
from et_schema.pte import read_pte
from et_vm.runtime import Runtime
from examples.artefacts import digest, keep

pytestmark = pytest.mark.filterwarnings("ignore")

NOT_LEFT_TO_IT = {"elu", "max_dim"}
"""Operators that stock's partitioner preserves."""


Keep = Callable[[str, Callable[[], bytes]], bytes]


@pytest.fixture(scope="module")
def keeping(pytestconfig: pytest.Config) -> Keep:
    """Stock takes seconds for each file: they are kept in pytest's cache until the programs or stock change."""
    folder = pytestconfig.cache.mkdir("xnnpack")

    def keep_file(name: str, make: Callable[[], bytes]) -> bytes:
        path = folder / f"{digest(name)}.pte"
        key = digest(name, Path(stock_xnnpack_programs.__file__), version("executorch"), version("torch"))

        def draft(place: Path) -> dict[str, Any]:
            place.write_bytes(make())
            return {}

        keep(path, key, draft)
        return path.read_bytes()

    return keep_file


def graphs(file: bytes) -> list[Any]:
    pte = read_pte(file)
    plan = pte.program.execution_plan[0]
    assert {delegate.id for delegate in plan.delegates} <= {"XnnpackBackend"}
    return [
        read_xnnpack(pte.delegate_data(delegate.processed)).graph
        for delegate in plan.delegates
        if delegate.processed is not None
    ]


def datatypes(file: bytes) -> set[XNNDatatype]:
    tensors = [tensor_of(value) for graph in graphs(file) for value in graph.xvalues]
    return {tensor.datatype for tensor in tensors if tensor is not None}


@pytest.fixture(params=["portable", "aten"])
def kernels(request: pytest.FixtureRequest) -> str:
    """The library of kernels that methods run with."""
    return str(request.param)


def ours(file: bytes, inputs: Sequence[Any], kernels: str, *, poison: bool = False) -> list[torch.Tensor]:
    program = Runtime.get().load_program(file, kernels=kernels, poison=poison)
    return program.load_method("forward").execute(list(inputs))


def close(
    results: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], atol: float, rtol: float = 1e-4
) -> None:
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        torch.testing.assert_close(result, reference, atol=atol, rtol=rtol)


def both(
    stock: StockRuntime, tmp_path: Path, file: bytes, inputs: Sequence[Any], kernels: str
) -> tuple[Any, Any]:
    path = tmp_path / "model.pte"
    path.write_bytes(file)
    return ours(file, inputs, kernels, poison=True), stock.run(path, inputs)


@pytest.mark.sweep
@pytest.mark.parametrize("name", SINGLES)
def test_single(name: str, keeping: Keep, kernels: str, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = SINGLES[name]()
    module.eval()  # whether the file is made here or was kept
    file = keeping(name, lambda: lowered(module, inputs))
    assert bool(graphs(file)) == (name not in NOT_LEFT_TO_IT)
    results, reference = both(stock, tmp_path, file, inputs, kernels)
    close(results, pytree.tree_leaves(module(*inputs)), 1e-4)
    close(results, reference, 1e-4)


@pytest.mark.sweep
@pytest.mark.parametrize("name", STATIC)
@pytest.mark.parametrize("per_channel", [True, False])
def test_calibrated(
    name: str, per_channel: bool, keeping: Keep, kernels: str, stock: StockRuntime, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    module, inputs = STATIC[name]()
    label = f"calibrated.{per_channel}.{name}"
    file = keeping(label, lambda: lowered(calibrated(module, inputs, per_channel=per_channel), inputs))
    assert datatypes(file) & {XNNDatatype.qint8, XNNDatatype.qcint8}
    results, reference = both(stock, tmp_path, file, inputs, kernels)
    # All outputs are on grids of 256 steps: a few results may be a step off.
    for result, expected in zip(results, reference, strict=True):
        span = float(expected.max() - expected.min())
        difference = (result - expected).abs()
        assert float(difference.max()) <= span / 100
        assert float((difference > span / 1000).float().mean()) < 0.01


@pytest.mark.parametrize("name", ["linear", "linear_3d", "perceptron", "conv"])
def test_quantized_as_they_come(
    name: str, keeping: Keep, kernels: str, stock: StockRuntime, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    module, inputs = SINGLES[name]()
    file = keeping(f"dynamic.{name}", lambda: lowered(calibrated(module, inputs, dynamic=True), inputs))
    assert XNNDatatype.qdint8 in datatypes(file)
    results, reference = both(stock, tmp_path, file, inputs, kernels)
    close(results, reference, 1e-5)


def test_four_bits_by_channel(keeping: Keep, kernels: str, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = Perceptron().eval(), (torch.randn(3, 64),)
    file = keeping(
        "channels", lambda: lowered(calibrated(module, inputs, dynamic=True, weights=(-8, 7)), inputs)
    )
    assert {XNNDatatype.qcint4, XNNDatatype.qdint8} <= datatypes(file)
    results, reference = both(stock, tmp_path, file, inputs, kernels)
    close(results, reference, 1e-5)


def test_four_bits_by_block(keeping: Keep, kernels: str, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = Perceptron().eval(), (torch.randn(3, 64),)
    file = keeping("blocks", lambda: lowered(in_blocks(module, 32), inputs))
    assert {XNNDatatype.qbint4, XNNDatatype.qdint8} <= datatypes(file)
    results, reference = both(stock, tmp_path, file, inputs, kernels)
    close(results, reference, 1e-5)


@pytest.mark.sweep
@pytest.mark.parametrize("name", HALVES)
def test_halves(name: str, keeping: Keep, kernels: str, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = SINGLES[name]()
    module, inputs = module.eval().half(), tuple(x.half() for x in inputs)
    file = keeping(f"half.{name}", lambda: lowered(module, inputs))
    assert XNNDatatype.fp16 in datatypes(file)
    results, reference = both(stock, tmp_path, file, inputs, kernels)
    close(results, pytree.tree_leaves(module(*inputs)), 2e-3, 2e-3)
    close(results, reference, 2e-3, 2e-3)


def test_sizes_that_change(stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4), torch.nn.Softmax(-1)
    )
    batch = torch.export.Dim("batch", min=1, max=32)
    file = lowered(module.eval(), (torch.randn(4, 16),), dynamic_shapes=({0: batch},))
    method = Runtime.get().load_program(file).load_method("forward")
    path = tmp_path / "model.pte"
    path.write_bytes(file)
    for size in (4, 1, 32, 7):
        x = torch.randn(size, 16)
        results = method.execute([x])
        close(results, [module(x)], 1e-5)
        close(results, stock.run(path, [x]), 1e-5)


def test_images_of_sizes_that_change() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
    ).eval()
    side = torch.export.Dim("side", min=4, max=32)
    file = lowered(module, (torch.randn(1, 3, 8, 8),), dynamic_shapes=({2: side, 3: side},))
    method = Runtime.get().load_program(file).load_method("forward")
    for size in (8, 5, 32, 8):
        x = torch.randn(1, 3, size, size)
        close(method.execute([x]), [module(x)], 1e-5)


@pytest.mark.slow
def test_example_models(model: Model, stock_xnnpack_file: Path, kernels: str) -> None:
    """The models of examples/, whole, lowered by stock's partitioner."""
    file = stock_xnnpack_file.read_bytes()
    kinds = {kind_name(node.xnode_union) for graph in graphs(file) for node in graph.xnodes}
    assert kinds
    for result, expected in zip(ours(file, model.inputs, kernels), model.expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), expected.numpy(), atol=1e-3, rtol=1e-3)
