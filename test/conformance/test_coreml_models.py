"""Example models as ML programs: evaluated by et-vm, read by coremltools, compared with stock's.

Nothing here runs on Core ML, which Apple's systems have alone. The evaluator is checked with programs of coremltools'
converter, and our programs by coremltools' reader, which infers the types of all values anew.
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
from example_models import Model, build

from et_backends.coreml.compiler import CoreMLPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

ACCURACY = {"f32": 1e-4, "f16": 0.05}
"""Of an output, its largest error to its standard deviation."""
CONFIG = ExecutorchBackendConfig(target="et-vm")
STOCK = ("digits", "vit", "detector")
"""Models that stock's compiler takes a few seconds for; it cannot compile `llama`."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """coremltools warns of its own dependencies, and shows progress."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(action="ignore"), contextlib.redirect_stderr(io.StringIO()):
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("precision", ACCURACY)
def test_on_the_vm(model: Model, precision: str, tmp_path: Path) -> None:
    edge = to_edge_transform_and_lower(model.program, partitioner=CoreMLPartitioner(precision=precision))
    file = edge.to_executorch(CONFIG).buffer
    method = Runtime().load_program(file, poison=True).load_method("forward")
    _check(method.execute(model.inputs), model.expected, ACCURACY[precision])
    pte = read_pte(file)
    for at, delegate in enumerate(pte.program.execution_plan[0].delegates):
        assert delegate.processed is not None
        _read_by_coremltools(bytes(pte.delegate_data(delegate.processed)), tmp_path / str(at))


def _read_by_coremltools(blob: bytes, folder: Path) -> None:
    """Unpacked by ExecuTorch's code, a blob is a package whose program coremltools infers the same types for."""
    from coremltools.converters.mil.frontend.milproto.load import load
    from coremltools.models import MLModel
    from executorch.backends.apple.coreml import executorchcoreml

    folder.mkdir()
    assert executorchcoreml.unflatten_directory_contents(blob, str(folder))
    package = folder / "lowered_module/model.mlpackage"
    spec: Any = MLModel(str(package), skip_model_load=True).get_spec()
    weights = package / "Data/com.apple.CoreML/weights"
    read: Any = load(spec, spec.specificationVersion, file_weights_dir=str(weights))
    function = spec.mlProgram.functions["main"]
    declared = {
        output.name: (
            output.type.tensorType.dataType,
            tuple(size.constant.size for size in output.type.tensorType.dimensions),
        )
        for op in function.block_specializations[function.opset].operations
        for output in op.outputs
    }
    from coremltools.converters.mil.backend.mil.helper import types_to_proto_primitive

    inferred = {
        output.name: (types_to_proto_primitive(output.dtype), tuple(output.shape))
        for op in read.functions["main"].operations
        for output in op.outputs
    }
    assert inferred
    assert inferred == {name: declared[name] for name in inferred}


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
    _check(Runtime().load_program(file).load_method("forward").execute(model.inputs), model.expected, 1e-4)

    ours = to_edge_transform_and_lower(model.program, partitioner=CoreMLPartitioner())
    assert not left  # so all of it has to be ours, too
    assert ours.delegation is not None
    assert not ours.delegation.left_out


def _check(found: list[object], expected: list[torch.Tensor], accuracy: float) -> None:
    for got, wanted in zip(found, expected, strict=True):
        assert (torch.as_tensor(got) - wanted).abs().max() <= accuracy * wanted.std()
