"""Object code of partitions that differ in their constants only, as layers of a model do, is compiled once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch
from native_modules import compiled, run
from support.accuracy import assert_accurate, truth_of
from torch import nn

from et_backends.codegen import pipeline
from et_backends.codegen.object_code import object_code


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A number for each call of LLVM, with no object code kept before."""
    found: list[object] = []

    def counted(*args: Any) -> bytes:
        found.append(len(found))
        return object_code(*args)

    monkeypatch.setattr(pipeline, "object_code", counted)
    monkeypatch.setattr(pipeline, "_OBJECTS", OrderedDict())
    return found


def layer(seed: int, *, columns: int = 8) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Linear(8, columns).eval()


def test_other_constants(calls: list[object]) -> None:
    x = torch.randn(2, 8)
    for seed in range(3):
        module = layer(seed)
        file = compiled(module, (x,), "x86-64-v3")
        with torch.no_grad():
            assert_accurate(run(file, (x,)), truth_of(module, x))
    assert len(calls) == 1


def test_other_sizes_and_instruction_sets(calls: list[object]) -> None:
    x = torch.randn(2, 8)
    for number, (columns, instruction_set) in enumerate([(8, "x86-64-v3"), (9, "x86-64-v3"), (8, "aarch64")]):
        compiled(layer(0, columns=columns), (x,), instruction_set)
        assert len(calls) == number + 1


def test_what_is_kept_is_bounded(calls: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_KEPT", 1)
    x = torch.randn(2, 8)
    for columns in (8, 9, 8):
        compiled(layer(0, columns=columns), (x,), "x86-64-v3")
    assert len(calls) == 3
