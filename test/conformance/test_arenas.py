"""Arenas of the examples are no larger than those of the stock compiler's files, and much smaller for some.

The stock compiler keeps the given order of operators and plans greedily; both plan inputs and outputs, at multiples of
16 bytes. What the files compute is compared elsewhere.
"""

from __future__ import annotations

from importlib import import_module

import pytest
import torch
from test_emit_stock import compile_with

from et_ir import to_edge
from et_schema.pte import read_pte

GOALS = {
    "mobilenet_v2": 0.65,
    "resnet18": 0.75,
    "bert": 0.8,
    "llama": 1,
    "mobilenet_v3": 1,
    "vit": 1,
    "unet": 1,
    "detector": 1,
    "nasnet_cell": 1 / 1.5,
    "darts_cell": 1 / 1.5,
    "randwire": 1 / 1.5,
}


def arena(data: bytes) -> int:
    return sum(read_pte(data).program.execution_plan[0].non_const_buffer_sizes)


@pytest.mark.parametrize("name", GOALS)
def test_arenas(name: str) -> None:
    model, inputs = getattr(import_module(f"examples.models.{name}"), name)()
    program = torch.export.export(model, inputs)
    theirs = arena(compile_with(program))
    ours = arena(to_edge(program).to_executorch().buffer)
    assert 0 < ours <= GOALS[name] * theirs
