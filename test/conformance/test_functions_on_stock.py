"""Functions that `fit-kernels` computes by formulas, on the stock runtime: in f64 against fifty digits, else torch."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
import pytest
import torch
from stock import StockRuntime
from sweep.compare import difference

from dev.calls import Call, module_of, results_of
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import edge_passes, executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import EmitOptions, write
from et_ir.targets.manifest import STOCK

aten: Any = torch.ops.aten
mp: Any = mpmath.mp.clone()
mp.dps = 50


@pytest.fixture(scope="module")
def stock() -> Iterator[StockRuntime]:
    with StockRuntime() as runtime:
        yield runtime


def run(target: Any, args: tuple[Any, ...], stock: StockRuntime, path: Path) -> tuple[Any, Any]:
    """What the stock runtime gives, and what torch gives."""
    results = results_of(target(*args))
    module, _, inputs = module_of(Call(target, args, {}, results))
    run_passes(module, edge_passes())
    run_passes(module, executorch_passes(ExecutorchBackendConfig(target=STOCK)))
    stream = io.BytesIO()
    write(module, stream, EmitOptions())
    path.write_bytes(stream.getvalue())
    return stock.run(path, inputs)[0], results[0]


def between(low: float, high: float, count: int = 60) -> torch.Tensor:
    """Numbers at distances that are no round ones."""
    return torch.linspace(low, high, count, dtype=torch.float64) + (high - low) / count / math.e


SMALL = torch.logspace(-300, -1, 40, dtype=torch.float64)
BELOW_1 = 1 - torch.logspace(-15.9, -1, 40, dtype=torch.float64)


def quantile(p: Any) -> Any:
    x = mp.mpf(torch.special.ndtri(torch.tensor(float(p), dtype=torch.float64)).item())
    for _ in range(6):
        x -= (mp.erfc(-x / mp.sqrt(2)) / 2 - p) * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
    return x


def log_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if abs(x) < 100 else mp.loggamma(x)


Row = tuple[Any, tuple[Any, ...], torch.Tensor, Callable[[Any], Any], float, float]

BOTH = torch.cat([between(-10, 10), between(10, 600)])
RIGHT = torch.cat([between(0.01, 5), between(5, 600)])
ROWS: dict[str, Row] = {
    # operator, arguments before, where, true values, units of the last place, or absolute
    "erfc": (aten.erfc.default, (), torch.cat([between(-6, 6), between(6, 26)]), mp.erfc, 4, 0),
    "erfcx": (aten.special_erfcx.default, (), between(-26, 60), lambda x: mp.exp(x * x) * mp.erfc(x), 4, 0),
    "erfinv": (aten.erfinv.default, (), torch.cat([between(-0.99, 0.9), SMALL, BELOW_1]), mp.erfinv, 4, 0),
    "ndtri": (aten.special_ndtri.default, (), torch.cat([between(0, 0.9), SMALL, BELOW_1]), quantile, 4, 1e-16),
    "lgamma": (aten.lgamma.default, (), torch.cat([RIGHT, SMALL]), log_gamma, 5, 0),
    "lgamma left": (aten.lgamma.default, (), between(-20, -0.4), log_gamma, 5, 1e-14),
    "digamma": (aten.digamma.default, (), torch.cat([RIGHT, SMALL]), mp.digamma, 5, 2e-15),
    "digamma left": (aten.digamma.default, (), between(-20, -0.4), mp.digamma, 5, 1e-13),
    "polygamma 1": (aten.polygamma.default, (1,), RIGHT, lambda x: mp.psi(1, x), 4, 0),
    "polygamma 1 left": (aten.polygamma.default, (1,), between(-20, -0.4), lambda x: mp.psi(1, x), 50, 0),
    "polygamma 4": (aten.polygamma.default, (4,), RIGHT, lambda x: mp.psi(4, x), 8, 0),
    "polygamma 12": (aten.polygamma.default, (12,), RIGHT, lambda x: mp.psi(12, x), 10, 0),
    "i0": (aten.i0.default, (), BOTH, lambda x: mp.besseli(0, x), 6, 0),
    "i1": (aten.special_i1.default, (), BOTH, lambda x: mp.besseli(1, x), 6, 0),
    "i0e": (aten.special_i0e.default, (), BOTH, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), 6, 0),
    "i1e": (aten.special_i1e.default, (), BOTH, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), 6, 0),
    "k0": (aten.special_modified_bessel_k0.default, (), RIGHT, lambda x: mp.besselk(0, x), 12, 0),
    "k1": (aten.special_modified_bessel_k1.default, (), RIGHT, lambda x: mp.besselk(1, x), 6, 0),
    "k0e": (aten.special_scaled_modified_bessel_k0.default, (), RIGHT, lambda x: mp.besselk(0, x) * mp.exp(x), 12, 0),
    "k1e": (aten.special_scaled_modified_bessel_k1.default, (), RIGHT, lambda x: mp.besselk(1, x) * mp.exp(x), 6, 0),
    "j0": (aten.special_bessel_j0.default, (), BOTH, lambda x: mp.besselj(0, x), 4, 1e-15),
    "j1": (aten.special_bessel_j1.default, (), BOTH, lambda x: mp.besselj(1, x), 4, 1e-15),
    "y0": (aten.special_bessel_y0.default, (), RIGHT, lambda x: mp.bessely(0, x), 4, 2e-15),
    "y1": (aten.special_bessel_y1.default, (), RIGHT, lambda x: mp.bessely(1, x), 4, 2e-14),
    "spherical_j0": (aten.special_spherical_bessel_j0.default, (), BOTH, lambda x: mp.sin(x) / x, 4, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_true_values(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    target, before, points, true, units, absolute = ROWS[name]
    got, _ = run(target, (*before, points), stock, tmp_path / "function.pte")
    for x, y in zip(points.tolist(), got.tolist(), strict=True):
        wanted = mp.re(true(mp.mpf(x)))
        assert abs(y - wanted) <= units * math.ulp(float(wanted)) + absolute, x


ENDS = (0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, math.inf, -math.inf, math.nan, -3, 3, 1e30, -1e30, 1e-30)


HALVES = (torch.float16, torch.bfloat16)
WIDE = ("erfcx", "ndtri", "polygamma 12")
"""Besides Bessel's, what torch has in no half precision, or is off by two hundredths there."""
ENDS_OF = [
    (name, dtype)
    for name, (target, *_) in ROWS.items()
    for dtype in (torch.float64, torch.float32, *HALVES, torch.int64)
    if dtype not in HALVES or not (name in WIDE or "bessel" in str(target))
]


@pytest.mark.parametrize(("name", "dtype"), ENDS_OF)
def test_torch_at_the_ends(name: str, dtype: torch.dtype, stock: StockRuntime, tmp_path: Path) -> None:
    """Infinities, poles, zeros and whole numbers, in every type that torch takes."""
    target, before, *_ = ROWS[name]
    whole = [x for x in ENDS if math.isfinite(x) and x == int(x) and abs(x) < 9]
    points = torch.tensor(ENDS if dtype.is_floating_point else whole).to(dtype)
    got, wanted = run(target, (*before, points), stock, tmp_path / "function.pte")
    assert difference([got], [wanted]) is None
