"""Programs that several threads compile at the same time are those that one thread compiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from support.native_modules import Function, lowered
from torch import nn
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from et_backends.codegen import pipeline
from et_backends.codegen.loop_builder import LoopBuilder
from et_backends.codegen.passes.distribute_loops import DistributeLoopsPass

THREADS = 4
LOOPS = 80


@pytest.fixture(autouse=True)
def short_turns() -> Iterator[None]:
    """Threads take turns so often that each is interrupted in every pass."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def modules() -> list[tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    torch.manual_seed(0)
    x = torch.randn(4, 24)
    image = torch.randn(1, 8, 9, 9)
    return [
        (nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.LayerNorm(32)).eval(), (x,)),
        (nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)).eval(), (image,)),
        (Function(lambda x: torch.softmax(x.sin() + torch.exp(x), -1)), (x,)),
    ]


def test_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only one of the files has its object code kept: the others are compiled anew.
    monkeypatch.setattr(pipeline, "_KEPT", 1)
    # `torch.export` is for one thread at a time.
    exported = [torch.export.export(module, inputs) for module, inputs in modules()]
    expected = [lowered(program, "x86-64-v3") for program in exported]
    with ThreadPoolExecutor(THREADS) as executor:
        found = list(executor.map(partial(lowered, name="x86-64-v3"), exported * 2))
    assert found == expected * 2


def loops() -> ModuleOp:
    block = Block()
    b = LoopBuilder(block)
    for _ in range(LOOPS):
        with b.parallel(64, 8):
            pass
    b.add_op(ReturnOp())
    function = FuncOp("loops", ([], []), Region(block), visibility=StringAttr("private"))
    return ModuleOp([function])


def test_distribution() -> None:
    given = [loops() for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as executor:
        list(executor.map(partial(DistributeLoopsPass().apply, Context()), given))
    for module in given:
        module.verify()
        assert str(module) == str(given[0])
