"""Stock's quantized library and the VM's kernels on random calls, each a file that both run: equal to the bit, but for
what `stock_quantized_models` states, where the stock runtime gives what its model gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from quantized_sweep import FAMILIES, Call, calls, compiled
from stock import StockRuntime
from stock_quantized_models import DIFFERENCES

from et_ir.targets.lookup import find_target
from et_vm.runtime import Runtime

COUNT = 120
"""Calls of each operator and its overloads."""


@pytest.fixture(scope="module")
def stock() -> Iterator[StockRuntime]:
    with StockRuntime(quantized=True) as runtime:
        yield runtime


def same(got: Any, wanted: Any) -> bool:
    """Equal to the bit, but for which NaN it is."""
    a, b = (value.numpy() if isinstance(value, torch.Tensor) else value for value in (got, wanted))
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    numbers = ~(np.isnan(a) & np.isnan(b))
    return a[numbers].tobytes() == b[numbers].tobytes()


def all_same(got: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return all(same(a, b) for a, b in zip(got, wanted, strict=True))


def modelled(call: Call) -> Sequence[Any]:
    arguments = [value.numpy() if isinstance(value, torch.Tensor) else value for value in call.args]
    with np.errstate(all="ignore"):
        return DIFFERENCES[call.operator].model(*arguments)


_PREFIXES = {"": "", "tensor": "Tensor_", "dtype": "dtype_"}


def kernel_name(operator: str) -> str:
    """The name of an operator's kernel, without the namespace."""
    name, _, overload = operator.partition(".")
    return f"{name}.{_PREFIXES[overload]}out"


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_random_calls(family: str, stock: StockRuntime, tmp_path: Path) -> None:
    path = tmp_path / "call.pte"
    differing: set[str] = set()
    seen: set[str] = set()
    for call in calls(family, COUNT):
        file, inputs = compiled(call)
        path.write_bytes(file)
        stock_s = stock.run(path, inputs)
        vm_s = Runtime.get().load_program(file).load_method("forward").execute(list(inputs))
        seen.add(call.operator)
        if call.operator not in DIFFERENCES:
            assert all_same(stock_s, vm_s), call
            continue
        assert all_same(stock_s, modelled(call)), f"{call}: {stock_s}, the model {modelled(call)}"
        if not all_same(stock_s, vm_s):
            differing.add(call.operator)
    assert differing == seen & DIFFERENCES.keys(), "the stock runtime is right"


def test_every_operator_of_the_library_is_called() -> None:
    called = {call.operator for family in FAMILIES for call in calls(family, COUNT)}
    target = find_target("stock-1.5-quantized")
    kernels = {
        name.removeprefix("quantized_decomposed::")
        for name in target.kernels
        if name.startswith("quantized_decomposed::")
    }
    assert set(map(kernel_name, called)) == kernels
