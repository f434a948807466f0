"""Irregular networks give eager's results in every runtime, and need no more memory than in their own order."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
import torch
from stock import StockRuntime

from et_ir import to_edge
from et_vm.runtime import Runtime


@pytest.mark.parametrize("name", ["nasnet_cell", "darts_cell", "randwire"])
def test_results(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    model, inputs = getattr(import_module(f"examples.models.{name}"), name)()
    expected = model(*inputs)
    assert 0.02 < expected.std() < 20
    path = tmp_path / f"{name}.pte"
    to_edge(torch.export.export(model, inputs)).to_executorch().save(path)
    results = [stock.run(path, inputs)[0]]
    for kernels in ("portable", "aten"):
        program = Runtime.get().load_program(path, kernels=kernels, poison=True)
        assert program.core.clashes("forward") == []
        results.append(program.load_method("forward").execute(list(inputs))[0])
    for result in results:
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
