"""Programs compiled for TOSA, on et-vm and on Arm's reference model, beside eager."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from example_models import Model
from support.quantized_nets import made as quantized_net
from tosa_programs import CASES
from tosa_reference import reference_results, validated
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from et_backends.tosa.compiler import TOSAPartitioner
from et_backends.tosa.compiler.serialization import graph_of, module_of
from et_backends.tosa.dialect import Tosa
from et_backends.tosa.format.blob import BACKEND, block_of, read_tosa, serialize_tosa
from et_backends.tosa.format.graph import DType, Op
from et_backends.tosa.passes.inline_tosa_constants import InlineTosaConstantsPass
from et_backends.tosa.runtime.program import TosaProgram
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.quantization import quantize
from et_ir.text import parse_module, print_module
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

TOLERANCE = 1e-4
"""Absolute and relative difference of floats, which are summed up in different orders."""


def parse(text: str) -> ModuleOp:
    """A module of the dialect, from text."""
    context = Context()
    for dialect in (Builtin, Func, Tosa):
        context.load_dialect(dialect)
    return parse_module(context, text)


def compiled(program: torch.export.ExportedProgram) -> bytes:
    config = ExecutorchBackendConfig(target="et-vm")
    return to_edge_transform_and_lower(program, partitioner=TOSAPartitioner()).to_executorch(config).buffer


def blobs_of(file: bytes) -> list[bytes]:
    pte = read_pte(file)
    return [
        bytes(pte.delegate_data(delegate.processed))
        for plan in pte.program.execution_plan
        for delegate in plan.delegates
        if delegate.id == BACKEND and delegate.processed is not None
    ]


def random_inputs(program: TosaProgram) -> list[Any]:
    numbers = np.random.default_rng(0)
    made: list[Any] = []
    for _, type in program.inputs:
        if type.dtype is DType.FP32:
            made.append(numbers.standard_normal(type.shape).astype(np.float32))
        elif type.dtype is DType.BOOL:
            made.append(numbers.integers(0, 2, type.shape).astype(bool))
        else:
            kind = {DType.INT8: np.int8, DType.INT16: np.int16, DType.INT32: np.int32}[type.dtype]
            limits = np.iinfo(np.int8)
            made.append(numbers.integers(limits.min, limits.max, type.shape).astype(kind))
    return made


def assert_close(made: Any, expected: Any) -> None:
    if np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(made, expected, rtol=TOLERANCE, atol=TOLERANCE)
    else:
        np.testing.assert_array_equal(made, expected)


def check(program: torch.export.ExportedProgram, inputs: Any, expected: Any, folder: Path) -> list[bytes]:
    """et-vm equals eager, and each blob is on et-vm what it is on the reference model; the blobs."""
    file = compiled(program)
    results = Runtime.get().load_program(file).load_method("forward").execute(list(inputs))
    for made, wanted in zip(results, expected, strict=True):
        assert_close(np.asarray(made), wanted.numpy())
    blobs = blobs_of(file)
    for blob in blobs:
        ours = TosaProgram(read_tosa(blob))
        given = random_inputs(ours)
        for made, wanted in zip(ours.run(given), reference_results(blob, given, folder), strict=True):
            assert made.shape == wanted.shape
            assert_close(made, wanted)
    return blobs


def test_example_models(model: Model, tmp_path: Path) -> None:
    assert check(model.program, model.inputs, model.expected, tmp_path)


def check_text(blob: bytes) -> None:
    """A blob is a text that is written to the same blob, and that MLIR verifies."""
    graph = read_tosa(blob)
    module = module_of(graph)
    module.verify()
    assert serialize_tosa(graph_of(module)) == blob
    InlineTosaConstantsPass().apply(Context(), module)
    text = io.StringIO()
    print_module(module, text)
    assert '"tosa.' in validated(text.getvalue())


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str, tmp_path: Path) -> None:
    module, inputs = CASES[name]()
    with torch.no_grad():
        expected = module(*inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else expected
    blobs = check(torch.export.export(module, inputs), inputs, expected, tmp_path)
    assert blobs
    for blob in blobs:
        assert block_of(read_tosa(blob)).operators
        check_text(blob)


def quantized_file(name: str) -> tuple[bytes, Any, torch.export.ExportedProgram]:
    """A network whose scales come from its example input, compiled for TOSA; the input, and the program."""
    module, inputs = quantized_net(name)
    program = torch.export.export(quantize(module, inputs, "int8", calibration=[inputs]).module, inputs)
    return compiled(program), inputs, program


@pytest.mark.parametrize(
    ("name", "casts"),
    {
        "concatenation": 4,
        # Its mean is between views, in floats.
        "image": 8,
        "mlp": 4,
        "residual": 4,
        "sequence": 4,
        "transposed": 4,
        "twice": 4,
        "views": 4,
    }.items(),
)
def test_integers(name: str, casts: int, tmp_path: Path) -> None:
    """Networks of 8 bits are computed in integers, with the bits of the reference model, and near to eager."""
    file, inputs, program = quantized_file(name)
    (blob,) = blobs_of(file)
    operators = [op.op for op in block_of(read_tosa(blob)).operators]
    assert Op.RESCALE in operators
    assert operators.count(Op.CAST) <= casts, "floats are at the borders only"
    ours = TosaProgram(read_tosa(blob))
    for made, wanted in zip(
        ours.run(random_inputs(ours)), reference_results(blob, random_inputs(ours), tmp_path), strict=True
    ):
        np.testing.assert_array_equal(made, wanted)
    check_text(blob)
    (made,) = Runtime.get().load_program(file).load_method("forward").execute(list(inputs))
    wanted = program.module()(*inputs).detach().numpy()
    step = max(float(np.ptp(wanted)) / 255, 1e-6)
    assert np.abs(np.asarray(made) - wanted).max() <= 3 * step


TEXTS = sorted((Path(__file__).parent / "tosa_texts").glob("*.mlir"))


@pytest.mark.parametrize("path", TEXTS, ids=[path.stem for path in TEXTS])
def test_integer_operators(path: Path, tmp_path: Path) -> None:
    """Integer kernels have the bits of the reference model."""
    blob = serialize_tosa(graph_of(parse(path.read_text())))
    ours = TosaProgram(read_tosa(blob))
    given = random_inputs(ours)
    for made, wanted in zip(ours.run(given), reference_results(blob, given, tmp_path), strict=True):
        np.testing.assert_array_equal(made, wanted)
