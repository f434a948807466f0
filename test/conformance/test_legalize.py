"""Results of legalized programs on the stock runtime.

They are torch's, which they would not be without `legalize`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockError, StockRuntime
from sweep.compare import difference

from dev.calls import RecordedCall, module_of, results_of
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import edge_passes, executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import EmitOptions, write
from et_ir.passes.verify.link_check import MissingKernels
from et_ir.targets.lookup import DEFAULT

aten: Any = torch.ops.aten


@pytest.fixture(scope="module")
def stock() -> Iterator[StockRuntime]:
    with StockRuntime() as runtime:
        yield runtime


def rand(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).mul(5).to(dtype)


def index(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int32)


I64, F16, BF16, F64 = torch.int64, torch.float16, torch.bfloat16, torch.float64
PLACES = torch.tensor([[0, 0, 2], [1, 1, 1], [2, 0, 2], [0, 1, 0]])
VOLUME = (2, 4, 5, 6, 7)


NONE = rand()

LEAST = -(2**63)
LARGE = torch.tensor(
    [LEAST, LEAST + 1, -(2**53) - 1, -8, -7, -1, 0, 1, 6, 7, 2**53 + 1, 2**62 + 3, -LEAST - 1]
)
DIVISORS = torch.tensor([LEAST, LEAST + 1, -(2**53) - 1, -7, -2, 1, 2, 7, 100, 2**53 + 1, -LEAST - 1])

CASES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "cumsum of no dimensions": (aten.cumsum.default, (NONE, 0), {}),
    "sum of no dimensions": (aten.sum.dim_IntList, (NONE, [0]), {}),
    "sum of no dimensions, kept": (aten.sum.dim_IntList, (NONE, [-1], True), {}),
    "any of no dimensions": (aten.any.dims, (NONE, []), {}),
    "sum f64": (aten.sum.dim_IntList, (rand(3, 4, 5, dtype=F64), [-1]), {}),
    "sum f64, all": (aten.sum.dim_IntList, (rand(30, 4, 50, dtype=F64), []), {}),
    "sum f64, kept": (aten.sum.dim_IntList, (rand(30, 4, 50, dtype=F64), [-3], True), {}),
    "sum f64 of no dimensions": (aten.sum.dim_IntList, (rand(dtype=F64), [0]), {}),
    "sum f64 of nothing": (aten.sum.dim_IntList, (rand(3, 0, dtype=F64), [1]), {}),
    "unfold_copy of no dimensions": (aten.unfold_copy.default, (NONE, 0, 1, 1), {}),
    "stack of nothing": (aten.stack.default, ([torch.zeros(0, 1, 0), torch.zeros(0, 1, 0)], 1), {}),
    "amax of nothing": (aten.amax.default, (rand(5, 0, 5), [0]), {}),
    "mm over nothing": (aten.mm.default, (rand(4, 0), rand(0, 2)), {}),
    "bmm over nothing": (aten.bmm.default, (rand(2, 4, 0), rand(2, 0, 2)), {}),
    "gather by i32": (aten.gather.default, (rand(4, 3), 1, index(4, 2)), {}),
    "scatter by i32": (aten.scatter.src, (rand(4, 3), 1, index(4, 1), rand(4, 1)), {}),
    "scatter value by i32": (aten.scatter.value, (rand(4, 3), 1, index(4, 1), 2), {}),
    "scatter_add by i32": (aten.scatter_add.default, (rand(4, 3), 1, index(4, 1), rand(4, 1)), {}),
    "scatter sum": (aten.scatter_reduce.two, (rand(4, 3), 1, PLACES, rand(4, 5), "sum"), {}),
    "scatter sum, others": (
        aten.scatter_reduce.two,
        (rand(4, 3, dtype=I64), -1, PLACES, rand(4, 5, dtype=I64), "sum"),
        {"include_self": False},
    ),
    "scatter mean": (aten.scatter_reduce.two, (rand(4, 3), 1, PLACES, rand(4, 5), "mean"), {}),
    "scatter mean, others": (
        aten.scatter_reduce.two,
        (rand(4, 3), 1, PLACES, rand(4, 5), "mean"),
        {"include_self": False},
    ),
    "scatter mean i64": (
        aten.scatter_reduce.two,
        (rand(4, 3, dtype=I64), 1, PLACES, rand(4, 5, dtype=I64), "mean"),
        {"include_self": False},
    ),
    "scatter mean i32": (
        aten.scatter_reduce.two,
        (rand(4, 3, dtype=torch.int32), 1, PLACES, rand(4, 5, dtype=torch.int32), "mean"),
        {},
    ),
    "logit f16": (aten.logit.default, (torch.rand(3, 4).to(F16),), {}),
    "logit bf16": (aten.logit.default, (torch.rand(3, 4).to(BF16), 0.1), {}),
    "variance bf16": (aten.var.correction, (rand(40, 50, dtype=BF16) * 3 + 8,), {}),
    "variance f16": (aten.var.correction, (rand(4, 500, dtype=F16) * 3 + 8, [1]), {"correction": 0}),
    "log_softmax f64": (aten._log_softmax.default, (rand(3, 4, dtype=F64), 1, False), {}),
    "log_softmax f64, 0": (aten._log_softmax.default, (rand(3, 4, dtype=F64), -2, False), {}),
    "add of one": (aten.add.Tensor, (rand(1), rand(5, 4)), {"alpha": 3}),
    "add of one bf16": (aten.add.Tensor, (rand(dtype=BF16), rand(5, 4, dtype=BF16)), {"alpha": 0.3}),
    "add of one i64": (aten.add.Tensor, (rand(1, dtype=I64), rand(5, 4, dtype=I64)), {"alpha": 3}),
    "number to bool": (aten.add.Scalar, (torch.tensor([True, False]), 2), {}),
    "bool to bool": (aten.add.Scalar, (torch.tensor([True, False]), True), {}),
    "sub of one": (aten.sub.Tensor, (rand(1), rand(5, 4)), {"alpha": 3}),
    "crop": (aten.constant_pad_nd.default, (rand(3, 5, 4), [-1, 2, 1, -2], 1.5), {}),
    "crop only": (aten.constant_pad_nd.default, (rand(3, 5, 4), [-1, -1]), {}),
    "narrow_copy": (aten.narrow_copy.default, (rand(3, 5), -1, -3, 2), {}),
    "remainder i64": (aten.remainder.Tensor, (rand(5, 1, dtype=I64), rand(4, dtype=I64).abs() - 20), {}),
    "remainder f64": (aten.remainder.Tensor, (rand(5, 1, dtype=F64), rand(4, dtype=F64)), {}),
    "remainder -3": (aten.remainder.Scalar, (rand(5, 4, dtype=I64), -3), {}),
    "remainder 2.5": (aten.remainder.Scalar, (rand(5, 4, dtype=F64), 2.5), {}),
    "remainder i8": (aten.remainder.Scalar, (rand(5, 4, dtype=torch.int8), 3), {}),
    **{
        f"{name} of large numbers": (target, (LARGE.view(-1, 1), DIVISORS), kwargs)
        for name, target, kwargs in (
            ("remainder", aten.remainder.Tensor, {}),
            ("fmod", aten.fmod.Tensor, {}),
            ("quotient", aten.div.Tensor_mode, {"rounding_mode": "trunc"}),
        )
    },
    **{
        f"{name} of large numbers by {number}": (target, (LARGE, number), kwargs)
        for number in (7, -7, -(2**53) - 1)
        for name, target, kwargs in (
            ("remainder", aten.remainder.Scalar, {}),
            ("fmod", aten.fmod.Scalar, {}),
            ("quotient", aten.div.Scalar_mode, {"rounding_mode": "trunc"}),
        )
    },
    **{
        f"{name} by -1": (target, (LARGE[1:], -1), kwargs)
        for name, target, kwargs in (
            ("remainder", aten.remainder.Scalar, {}),
            ("fmod", aten.fmod.Scalar, {}),
            ("quotient", aten.div.Scalar_mode, {"rounding_mode": "trunc"}),
        )
    },
    "average of volumes, ceil": (
        aten.avg_pool3d.default,
        (rand(*VOLUME), [2, 3, 2], [2, 2, 3], [1, 1, 0], True, False),
        {},
    ),
    "average of volumes, padding counts": (
        aten.avg_pool3d.default,
        (rand(4, 5, 6, 7, dtype=F64), [3, 3, 2], [2, 2, 3], [1, 1, 1], True, True),
        {},
    ),
    "average of volumes, divisor": (
        aten.avg_pool3d.default,
        (rand(4, 5, 6, 7), [3, 3, 2], [2, 2, 3], [1, 1, 1], True, True, -7),
        {},
    ),
    "average of volumes i64": (
        aten.avg_pool3d.default,
        (rand(2, 5, 6, 7, dtype=I64) * 2**40 + 3, [3, 3, 2], [2, 2, 3], [1, 1, 1], False, False),
        {},
    ),
    "average of volumes i64, divisor": (
        aten.avg_pool3d.default,
        (rand(2, 5, 6, 7, dtype=I64), [3, 3, 2], [2, 2, 3], [1, 1, 1], False, False, -7),
        {},
    ),
    "adaptive average f64": (
        aten._adaptive_avg_pool2d.default,
        (rand(2, 3, 50, 70, dtype=F64) + 100, [2, 3]),
        {},
    ),
    "adaptive average f64, larger": (
        aten._adaptive_avg_pool2d.default,
        (torch.tensor([[[1.0, math.inf, 3], [4, 5, math.nan]]], dtype=F64), [3, 5]),
        {},
    ),
    "layer norm f64": (
        aten.native_layer_norm.default,
        (rand(2, 3, 4, 5, dtype=F64) + 1e4, [4, 5], rand(4, 5, dtype=F64), rand(4, 5, dtype=F64), 1e-5),
        {},
    ),
    "layer norm f64, all": (
        aten.native_layer_norm.default,
        (rand(4, 5, dtype=F64) + 1e4, [4, 5], None, rand(4, 5, dtype=F64), 1e-5),
        {},
    ),
    "group norm f64": (
        aten.native_group_norm.default,
        (rand(2, 6, 3, 5, dtype=F64), rand(6, dtype=F64), rand(6, dtype=F64), 2, 6, 15, 3, 1e-5),
        {},
    ),
    "power i64": (aten.pow.Tensor_Scalar, (rand(4, 5, dtype=I64), 41), {}),
    "power u8": (aten.pow.Tensor_Scalar, (rand(4, 5).abs().to(torch.uint8), 11), {}),
    "conv3d": (
        aten.convolution.default,
        (rand(*VOLUME), rand(6, 2, 3, 2, 3), rand(6), [2, 1, 2], [1, 0, 2], [2, 1, 1], False, [0, 0, 0], 2),
        {},
    ),
    "conv_transpose3d": (
        aten.convolution.default,
        (rand(*VOLUME), rand(4, 3, 3, 2, 3), rand(6), [2, 1, 2], [1, 0, 2], [1, 2, 1], True, [1, 0, 1], 2),
        {},
    ),
    "conv_transpose3d, 1": (
        aten.convolution.default,
        (rand(1, 2, 3, 4, 4), rand(2, 3, 2, 2, 2), None, [1], [0], [1], True, [0], 1),
        {},
    ),
}


def run(call: RecordedCall, stock: StockRuntime, path: Path, *, fitted: bool) -> str | None:
    """The difference of the stock runtime's results from torch's; raises `StockError` if it refuses."""
    module, _, inputs = module_of(call)
    passes = executorch_passes(ExecutorchBackendConfig(target=DEFAULT))
    if not fitted:
        passes = [one for one in passes if one.name not in ("legalize", "kernel-limits")]
    run_passes(module, edge_passes())
    run_passes(module, passes)
    stream = io.BytesIO()
    write(module, stream, EmitOptions())
    path.write_bytes(stream.getvalue())
    return difference(stock.run(path, inputs), call.results)


@pytest.mark.parametrize("name", CASES)
def test_stock_gives_what_torch_gives(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    target, args, kwargs = CASES[name]
    call = RecordedCall(target, args, kwargs, results_of(target(*args, **kwargs)))
    assert run(call, stock, tmp_path / "fitted.pte", fitted=True) is None


LEAST_BY_NEGATIVE_ONE = [
    (aten.remainder.Tensor, {}, 0),
    (aten.fmod.Tensor, {}, 0),
    (aten.div.Tensor_mode, {"rounding_mode": "trunc"}, LEAST),
]
"""A division that ends the process if the processor traps; the quotient is modulo 2^64, as sums are."""


@pytest.mark.parametrize(("target", "kwargs", "result"), LEAST_BY_NEGATIVE_ONE)
def test_the_least_number_by_negative_one(
    target: Any, kwargs: dict[str, Any], result: int, stock: StockRuntime, tmp_path: Path
) -> None:
    arguments = torch.tensor([LEAST, 7]), torch.tensor([-1, -1])
    expected = torch.tensor([result, -7 if result else 0])
    call = RecordedCall(target, arguments, kwargs, [expected])
    assert run(call, stock, tmp_path / "model.pte", fitted=True) is None


@pytest.mark.parametrize(("target", "kwargs", "_"), LEAST_BY_NEGATIVE_ONE)
def test_integers_by_zero_are_refused(
    target: Any, kwargs: dict[str, Any], _: int, stock: StockRuntime, tmp_path: Path
) -> None:
    """As by torch."""
    arguments = torch.tensor([3, 7]), torch.tensor([1, 0])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        target(*arguments, **kwargs)
    call = RecordedCall(target, arguments, kwargs, [torch.zeros(2, dtype=I64)])
    with pytest.raises(StockError, match="division by zero"):
        run(call, stock, tmp_path / "model.pte", fitted=True)


@pytest.mark.slow
def test_most_would_not(stock: StockRuntime, tmp_path: Path) -> None:
    """The rewrites are needed: what stock is right about without them is little, and listed."""
    right: list[str] = []
    for name, (target, args, kwargs) in CASES.items():
        call = RecordedCall(target, args, kwargs, results_of(target(*args, **kwargs)))
        try:
            if run(call, stock, tmp_path / "plain.pte", fitted=False) is None:
                right.append(name)
        except (StockError, MissingKernels):
            continue
    assert not {n for n in right if n not in RIGHT}, right


RIGHT = (
    "any of no dimensions",
    "sum f64 of nothing",
    "sum f64, all",
    "stack of nothing",
    "sub of one",
    "adaptive average f64, larger",
    "bool to bool",
    "remainder 2.5",
    "remainder f64",
    "remainder by -1",
    "fmod by -1",
    "quotient of large numbers by -9007199254740993",
    "mm over nothing",
    "bmm over nothing",
)
"""Cases that stock takes as they are: neighbours of those that it does not, or memory that happens to hold zeros."""
