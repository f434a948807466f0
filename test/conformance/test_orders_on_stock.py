"""Scans, sorts and scattered reductions that the stock runtime has no kernel for: torch's results on it, with ties, NaN
and infinities.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from sweep.compare import difference

from dev.calls import RecordedCall, module_of, results_of
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import edge_passes, executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import EmitOptions, write
from et_ir.targets.lookup import DEFAULT

aten: Any = torch.ops.aten
Case = tuple[Any, tuple[Any, ...], dict[str, Any]]


@pytest.fixture(scope="module")
def stock() -> Iterator[StockRuntime]:
    with StockRuntime() as runtime:
        yield runtime


def few(*shape: int, least: int = -4) -> torch.Tensor:
    """Whole numbers of which many are equal."""
    return torch.randint(least, 4, shape, generator=torch.Generator().manual_seed(sum(shape)))


STRANGE = torch.tensor([[1, nan, 2, nan, 5, inf], [0, -0.0, -inf, -inf, inf, inf], [nan, nan, nan, 1, 2, 2]])
ONE = torch.tensor(2.0)
FLOATS = (few(3, 7).float(), STRANGE, STRANGE.half(), STRANGE.double(), few(2, 3, 5).bfloat16(), ONE)
WHOLE = (few(3, 7), few(3, 7).bool(), few(3, 7, least=0).to(torch.uint8), few(3, 1))


def dims(x: torch.Tensor) -> tuple[int, ...]:
    return (0, -1) if x.dim() else (0,)


def scans() -> Iterator[Case]:
    for target in (aten.cummax.default, aten.cummin.default):
        for x in (*FLOATS, *WHOLE):
            for dim in dims(x):
                yield target, (x, dim), {}


def sorts() -> Iterator[Case]:
    for x in (*FLOATS, *WHOLE, -STRANGE):
        for dim in dims(x):
            for descending in (False, True):
                yield aten.sort.stable, (x,), {"stable": True, "dim": dim, "descending": descending}
                yield aten.sort.default, (x, dim, descending), {}


def scatters() -> Iterator[Case]:
    places = few(3, 5, least=1) - 1
    columns = torch.tensor([[0, 1, 1, 1, 0, 2], [0, 1, 0, 1, 2, 0], [0, 0, 0, 2, 2, 1]])
    for reduce in ("sum", "mean", "amax", "amin", "prod"):
        for include in (True, False):
            rows: list[tuple[Any, ...]] = [
                (few(4, 3).to(dtype), 1, places, few(4, 6).to(dtype))
                for dtype in (
                    torch.float32,
                    torch.float16,
                    torch.int64,
                    torch.uint8,
                    torch.float64,
                    torch.bool,
                )
                if dtype is not torch.bool or reduce != "mean"
            ]
            rows += [
                (ONE, 0, torch.tensor(0), ONE),
                (few(3, 2).float(), 0, torch.zeros(0, 2, dtype=torch.int64), torch.zeros(0, 2)),
                (STRANGE, 0, columns, STRANGE.flip(1)),
                (few(3, 2, 4).float(), -3, few(7, 2, 4, least=1) - 1, few(7, 2, 4).float()),
                (few(3).float(), 0, torch.tensor([1]), few(1).float()),
            ]
            for row in rows:
                yield aten.scatter_reduce.two, (*row, reduce), {"include_self": include}


@pytest.mark.parametrize("family", [scans, sorts, scatters])
def test_stock_gives_what_torch_gives(family: Any, stock: StockRuntime, tmp_path: Path) -> None:
    for target, args, kwargs in family():
        call = RecordedCall(target, args, kwargs, results_of(target(*args, **kwargs)))
        module, _, inputs = module_of(call)
        run_passes(module, edge_passes())
        run_passes(module, executorch_passes(ExecutorchBackendConfig(target=DEFAULT)))
        stream = io.BytesIO()
        write(module, stream, EmitOptions())
        path = tmp_path / "call.pte"
        path.write_bytes(stream.getvalue())
        got = stock.run(path, inputs)
        if target is aten.sort.default and args[0].dim():
            # Torch does not say which of equal elements it means.
            dim = args[1]
            named = args[0].gather(dim, got[1])
            torch.testing.assert_close(named, call.results[0], rtol=0, atol=0, equal_nan=True)
            assert not (got[1].sort(dim).values.diff(dim=dim) == 0).any(), call
            got = [got[0], call.results[1]]
        assert difference(got, call.results) is None, call
