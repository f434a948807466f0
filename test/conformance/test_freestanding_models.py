"""The example models as objects for processors, in emulators, beside eager."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils import _pytree as pytree

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "et_ir"))

import freestanding_machines as machines

from et_ir.backends.freestanding.compiler import compile_program

MODELS = {
    "examples.digits.network:digits": "cortex-m4",
    "examples.models.darts_cell:darts_cell": "cortex-m4",
    "examples.models.mlperf_tiny:anomaly_detection": "cortex-m33",
    "examples.models.mlperf_tiny:image_classification": "cortex-m4",
    "examples.models.mlperf_tiny:keyword_spotting": "cortex-m7",
    "examples.models.mobilenet_v3:mobilenet_v3": "aarch64",
    "examples.models.nasnet_cell:nasnet_cell": "cortex-m7",
    "examples.models.recurrent:gru": "wasm32",
    "examples.models.recurrent:lstm": "cortex-m4",
}
"""Processors by factory: of models that an emulator runs within seconds."""


@pytest.mark.sweep
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, tmp_path: Path) -> None:
    module_name, factory = name.split(":")
    module, arguments = getattr(import_module(module_name), factory)()
    target = MODELS[name]
    with warnings.catch_warnings(action="ignore"):  # of torch about recurrent layers
        program = torch.export.export(module.eval(), arguments)
    made = compile_program(program, target, "net")
    inputs = [one.numpy() for one in pytree.tree_leaves(arguments)]
    found = machines.run(target, tmp_path, made, inputs)
    assert found.status == 0
    assert found.stack <= made.stack_bytes
    with torch.no_grad():
        expected = pytree.tree_leaves(module(*arguments))
    for one, other in zip(found.outputs, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-5)
