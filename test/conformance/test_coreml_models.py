"""Example models as ML programs of coremltools' converter: evaluated by et-vm, and no larger a share than ours.

Nothing here runs on Core ML, which Apple's systems have alone. Our programs are on routes of `test_programs.py`, where
coremltools' reader infers the types of all values anew.
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from example_models import build
from torch import nn

from et_backends.coreml.compiler import CoreMLPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

ACCURACY = 1e-4
"""Of an output, its largest error to its standard deviation."""
STOCK = ("digits", "vit", "detector")
"""Models that stock's compiler takes a few seconds for; it cannot compile `llama`."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """coremltools warns of its own dependencies, and shows progress."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(action="ignore"), contextlib.redirect_stderr(io.StringIO()):
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", STOCK)
def test_beside_stock(name: str) -> None:
    """The evaluator computes stock's programs right; ours have as large a share."""
    import coremltools
    from executorch.backends.apple.coreml.compiler import CoreMLBackend
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner as StockPartitioner
    from executorch.exir import to_edge_transform_and_lower as stock_lower

    model = build(name)
    specs = CoreMLBackend.generate_compile_specs(compute_precision=coremltools.precision.FLOAT32)
    with contextlib.redirect_stdout(io.StringIO()):
        edge = stock_lower(copy.deepcopy(model.program), partitioner=[StockPartitioner(compile_specs=specs)])
        file = edge.to_executorch().buffer
    left: list[Any] = [
        node.target
        for node in edge.exported_program().graph.nodes
        if node.op == "call_function"
        and "delegate" not in str(node.target)
        and "getitem" not in str(node.target)
    ]
    found = Runtime().load_program(file).load_method("forward").execute(model.inputs)
    for got, wanted in zip(found, model.expected, strict=True):
        assert (torch.as_tensor(got) - wanted).abs().max() <= ACCURACY * wanted.std()

    ours = to_edge_transform_and_lower(model.program, partitioner=CoreMLPartitioner())
    assert not left  # so all of it has to be ours, too
    assert ours.delegation is not None
    assert not ours.delegation.left_out


class Shared(nn.Module):
    """Two layers whose weights are those of every method."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def methods_that_share() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    return Shared().eval(), {"decode": torch.randn(1, 64), "prefill": torch.randn(8, 64)}


def test_shared_models_of_stock() -> None:
    """The evaluator computes the methods of a file by stock's compiler, which are functions of one model."""
    import coremltools
    from executorch.backends.apple.coreml.compiler import CoreMLBackend
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner as StockPartitioner
    from executorch.exir import to_edge_transform_and_lower as stock_lower

    module, inputs = methods_that_share()
    specs = CoreMLBackend.generate_compile_specs(
        compute_precision=coremltools.precision.FLOAT32, minimum_deployment_target=coremltools.target.iOS18
    )
    with contextlib.redirect_stdout(io.StringIO()):
        edge = stock_lower(
            {name: torch.export.export(module, (x,)) for name, x in inputs.items()},
            partitioner={name: [StockPartitioner(compile_specs=specs)] for name in inputs},
        )
        file = edge.to_executorch().buffer
    loaded = Runtime().load_program(file)
    assert file.count(b"CMJR") == len(inputs)
    for name, x in inputs.items():
        (found,) = loaded.load_method(name).execute([x])
        wanted = module(x)
        assert (torch.as_tensor(found) - wanted).abs().max() <= ACCURACY * wanted.std()


def test_our_shared_models_for_coremltools(tmp_path: Path) -> None:
    """Unpacked by ExecuTorch's code, a shared model has a function for each method, with a description of its own."""
    from coremltools.converters.mil.frontend.milproto.load import load
    from coremltools.models import MLModel
    from executorch.backends.apple.coreml import executorchcoreml

    module, inputs = methods_that_share()
    exported = {name: torch.export.export(module, (x,)) for name, x in inputs.items()}
    edge = to_edge_transform_and_lower(exported, partitioner=CoreMLPartitioner())
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    [blob] = [data for key, data in read_pte(file).named_data().items() if key.startswith("coreml_")]
    assert executorchcoreml.unflatten_directory_contents(bytes(blob), str(tmp_path))
    package = tmp_path / "lowered_module/model.mlpackage"
    spec: Any = MLModel(str(package), skip_model_load=True).get_spec()
    read: Any = load(
        spec, spec.specificationVersion, file_weights_dir=str(package / "Data/com.apple.CoreML/weights")
    )
    assert sorted(read.functions) == sorted(spec.mlProgram.functions) == ["decode", "prefill"]
    described = {one.name: [x.name for x in (*one.input, *one.output)] for one in spec.description.functions}
    assert described == {name: ["input0", "output0"] for name in ("decode", "prefill")}
    assert (spec.specificationVersion, spec.description.defaultFunctionName) == (9, "decode")
