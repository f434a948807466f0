"""Caches in buffers: what is written is the new entry and nothing else, in all runtimes as in eager."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
from cache_forms import BATCH, FORMS, HEADS, WIDTH, Cache, Form
from stock import StockRuntime
from torch import Tensor
from whole_copies import whole_copies

from et_ir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from et_ir.targets.lookup import DEFAULT
from et_vm.runtime import Runtime

PLACES = (3, 0, 7)
"""Positions of the writes, one after the other."""


def steps() -> list[tuple[Tensor, Tensor, Tensor]]:
    torch.manual_seed(5)
    shape = (BATCH, HEADS, 1, WIDTH)
    return [(torch.randn(shape), torch.randn(shape), torch.tensor([place])) for place in PLACES]


@cache
def compiled(name: str, target: str) -> ExecutorchProgramManager:
    form = next(form for form in FORMS if form.name == name)
    program = torch.export.export(Cache(form.write, form.shape).eval(), steps()[0])
    return to_edge(program).to_executorch(ExecutorchBackendConfig(target=target))


def expected(form: Form) -> list[Tensor]:
    net = Cache(form.write, form.shape).eval()
    with torch.no_grad():
        return [net(*step) for step in steps()]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
def test_no_instruction_copies_the_cache(form: Form, target: str) -> None:
    copies = whole_copies(compiled(form.name, target).module)
    if form.stock_in_place or target == "et-vm":
        assert copies == []
    else:
        assert "aten::index_put.out" in copies


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poisoned"])
@pytest.mark.parametrize("kernels", ["portable", "aten"])
@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
def test_on_our_vm(form: Form, target: str, kernels: str, poison: bool) -> None:
    program = Runtime.get().load_program(compiled(form.name, target).buffer, kernels=kernels, poison=poison)
    assert program.core.clashes("forward") == []
    method = program.load_method("forward")
    torch.testing.assert_close([method.execute(step)[0] for step in steps()], expected(form))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_on_the_stock_runtime(form: Form, stock: StockRuntime, tmp_path: Path) -> None:
    path = tmp_path / "cache.pte"
    compiled(form.name, DEFAULT).save(path)
    torch.testing.assert_close([stock.run_on(path, step)[0] for step in steps()], expected(form))
