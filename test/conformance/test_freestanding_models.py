"""The example models as objects for processors, in emulators or as processes, beside eager."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path

import freestanding_machines as machines
import pytest
import torch
from example_models import FACTORIES
from support.accuracy import assert_accurate, in_double
from torch.utils import _pytree as pytree

from et_backends.freestanding.compiler.programs import compile_program
from examples.models.cached_llama import cached_llama

SMALL = {
    "examples.digits.network:digits": "cortex-m4",
    "examples.models.darts_cell:darts_cell": "cortex-m4",
    "examples.models.mlperf_tiny:anomaly_detection": "cortex-m33",
    "examples.models.mlperf_tiny:image_classification": "cortex-m4",
    "examples.models.mlperf_tiny:keyword_spotting": "cortex-m7",
    "examples.models.nasnet_cell:nasnet_cell": "cortex-m7",
    "examples.models.recurrent:gru": "wasm32",
    "examples.models.recurrent:lstm": "cortex-m4",
}
"""Processors by factory: of models that an emulator of a microcontroller runs within seconds."""
LARGE = [
    ("mobilenet_v2", "x86-64"),
    ("mobilenet_v2", "aarch64"),
    ("mobilenet_v2", "riscv64gc"),
    ("mobilenet_v3", "x86-64"),
    ("mobilenet_v3", "aarch64"),
    ("resnet18", "x86-64"),
    ("unet", "x86-64"),
    ("unet", "aarch64"),
    ("detector", "x86-64"),
    ("detector", "riscv64gc"),
    ("vit", "x86-64"),
    ("vit", "aarch64"),
    ("bert", "x86-64"),
    ("bert", "aarch64"),
    ("llama", "x86-64"),
    ("llama", "aarch64"),
]
"""Models by name, and processors of machines that they are for, whose programs are processes here."""
LARGEST_STACK = 8 << 10
"""Bytes."""


def check(factory: str, target: str, folder: Path, *, as_process: bool) -> None:
    module_name, name = factory.split(":")
    with warnings.catch_warnings(action="ignore"):  # of torch about recurrent layers
        module, arguments = getattr(import_module(module_name), name)()
        program = torch.export.export(module.eval(), arguments)
    made = compile_program(program, target, "net")
    inputs = [one.numpy() for one in pytree.tree_leaves(arguments)]
    found = machines.run(target, folder, made, inputs, as_process=as_process)
    assert found.stack <= made.stack_bytes < LARGEST_STACK
    assert found.status == 0
    assert_accurate(found.outputs, in_double(module, *arguments))


@pytest.mark.sweep
@pytest.mark.parametrize("factory", SMALL)
def test_small_models(factory: str, tmp_path: Path) -> None:
    check(factory, SMALL[factory], tmp_path, as_process=False)


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "target"), LARGE)
def test_large_models(name: str, target: str, tmp_path: Path) -> None:
    check(FACTORIES[name], target, tmp_path, as_process=True)


@pytest.mark.sweep
@pytest.mark.parametrize("target", ["x86-64", "aarch64"])
def test_steps_of_a_decoder(target: str, tmp_path: Path) -> None:
    """Tokens one after the other: keys and values are in the state that the caller has."""
    module, arguments, _ = cached_llama()["decode"]
    made = compile_program(torch.export.export(module, arguments), target, "net")
    state = machines.reset(target, tmp_path, made)
    for place, token in enumerate((17, 4, 1000)):
        inputs = torch.tensor([[token]]), torch.tensor([place])
        found = machines.run(
            target, tmp_path, made, [one.numpy() for one in inputs], state=state, as_process=True
        )
        state = found.state
        assert found.status == 0
        assert_accurate(found.outputs, in_double(module, *inputs))
        with torch.no_grad():
            module(*inputs)  # Keys and values are in its state.
