"""Programs compiled for TOSA, on et-vm and on Arm's reference model, beside eager."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from example_models import Model
from torch import nn
from tosa_reference import reference_results, validated
from xdsl.context import Context

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.tosa import TOSAPartitioner
from et_ir.backends.tosa.passes.inline_tosa_constants import InlineTosaConstantsPass
from et_ir.backends.tosa.serialization import graph_of, module_of
from et_ir.text import print_module
from et_schema.pte import read_pte
from et_schema.tosa import BACKEND, block_of, read_tosa, serialize_tosa
from et_schema.tosa_graph import DType
from et_vm.backends.tosa.program import TosaProgram
from et_vm.runtime import Runtime

TOLERANCE = 1e-4
"""Absolute and relative difference of floats, which are summed up in different orders."""


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


Case = tuple[Callable[..., Any] | nn.Module, tuple[torch.Tensor, ...]]


def _x(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


CASES: dict[str, Case] = {
    "pointwise": (
        lambda x, y: (x + 2 * y, x - y, x * y, x / (y.abs() + 1), -x, x**2),
        (_x(2, 3, 4), _x(3, 1)),
    ),
    "functions": (
        lambda x: (
            x.exp(),
            x.abs().add(0.1).log(),
            x.sin(),
            x.cos(),
            x.abs().sqrt(),
            x.erf(),
            x.floor(),
            x.ceil(),
        ),
        (_x(3, 5),),
    ),
    "comparisons": (
        lambda x, y: (x > y, x >= 0.5, x == y, x != y, x < y, torch.where(x <= y, x, y), (x > 0) & (y > 0)),
        (_x(3, 5), _x(3, 5)),
    ),
    "activations": (
        lambda x: (
            torch.relu(x),
            nn.functional.gelu(x),
            nn.functional.gelu(x, approximate="tanh"),
            nn.functional.silu(x),
            nn.functional.hardswish(x),
            nn.functional.hardsigmoid(x),
            nn.functional.elu(x),
            nn.functional.leaky_relu(x),
            torch.sigmoid(x),
            torch.tanh(x),
            x.clamp(-0.5, 0.5),
        ),
        (_x(4, 7) * 3,),
    ),
    "reductions": (
        lambda x: (
            x.sum(1),
            x.mean((0, 2)),
            x.amax(-1),
            x.amin(0, keepdim=True),
            x.var(1),
            x.sum(),
            x.prod(2),
        ),
        (_x(2, 3, 4),),
    ),
    "softmax": (lambda x: (x.softmax(-1), x.log_softmax(1)), (_x(2, 3, 4),)),
    "shapes": (
        lambda x: (
            x.reshape(4, 6),
            x.permute(2, 0, 1),
            x[:, 1:3],
            x[:, ::2],
            x[1],
            torch.cat([x, x * 2], 1),
            x.expand(3, 2, 3, 4),
            torch.flip(x, (1,)),
            x.repeat(1, 2, 1),
            torch.stack([x, x + 1], 2),
            nn.functional.pad(x, (1, 2, 0, 1), value=3.0),
            *x.split(2, 1),
        ),
        (_x(2, 3, 4),),
    ),
    "products": (
        lambda x, y, z: (x @ y, torch.bmm(z, z.transpose(1, 2)), torch.addmm(y[0], x, y)),
        (_x(3, 4), _x(4, 5), _x(2, 3, 4)),
    ),
    "linear": (nn.Linear(6, 5), (_x(2, 3, 6),)),
    "conv": (nn.Conv2d(3, 8, 3, stride=2, padding=1), (_x(2, 3, 9, 10),)),
    "conv_uneven": (nn.Conv2d(3, 4, 1, stride=2), (_x(1, 3, 8, 8),)),
    "conv_dilated": (nn.Conv2d(3, 4, 3, dilation=2, bias=False), (_x(1, 3, 9, 9),)),
    "conv_grouped": (nn.Conv2d(4, 6, 3, groups=2), (_x(1, 4, 7, 7),)),
    "conv_depthwise": (nn.Conv2d(4, 8, 3, groups=4, padding=1), (_x(1, 4, 7, 7),)),
    "conv_transposed": (
        nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1),
        (_x(1, 3, 5, 6),),
    ),
    "conv_1d": (nn.Conv1d(3, 5, 3, padding=1), (_x(2, 3, 11),)),
    "max_pool": (nn.MaxPool2d(3, 2, 1), (_x(1, 3, 8, 8),)),
    "avg_pool": (nn.AvgPool2d(3, 2, 1), (_x(1, 3, 8, 8),)),
    "avg_pool_inside": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (_x(1, 3, 9, 9),)),
    "layer_norm": (nn.LayerNorm(6), (_x(2, 3, 6),)),
    "group_norm": (nn.GroupNorm(2, 4), (_x(2, 4, 5, 5),)),
    "batch_norm": (nn.BatchNorm2d(4).eval(), (_x(2, 4, 5, 5),)),
    "nearest": (nn.Upsample(scale_factor=2.0), (_x(1, 2, 5, 6),)),
    "nearest_down": (nn.Upsample(size=(4, 3)), (_x(1, 2, 6, 7),)),
    "bilinear": (nn.Upsample(scale_factor=2.0, mode="bilinear"), (_x(1, 2, 5, 6),)),
    "bilinear_corners": (nn.Upsample(size=(9, 7), mode="bilinear", align_corners=True), (_x(1, 2, 5, 4),)),
    "channels_last": (nn.Conv2d(3, 4, 3), (_x(1, 3, 6, 6).to(memory_format=torch.channels_last),)),
    "pixel_shuffle": (nn.Sequential(nn.PixelShuffle(2), nn.ReLU()), (_x(1, 8, 3, 4),)),
}


class Wrapped(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    made, inputs = CASES[name]
    module = (made if isinstance(made, nn.Module) else Wrapped(made)).eval()
    with torch.no_grad():
        expected = module(*inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else expected
    blobs = check(torch.export.export(module, inputs), inputs, expected, tmp_path)
    assert blobs
    for blob in blobs:
        assert block_of(read_tosa(blob)).operators
        check_text(blob)
