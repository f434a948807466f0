"""The limits of stock kernels that targets state in Python hold on the installed runtime: quantized operators that
compute otherwise than torch, convolutions and their gradients, and complex tensors.

Each call is compiled without the passes that avoid what kernels do not take. The runtime gives torch's results if,
and only if, the target states no limit. Calls beyond limits, which may end a process or corrupt it, have one of their
own.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # pyright: ignore[reportUnusedImport]  (defines the operators)
from stock import StockError, StockRuntime
from sweep.compare import difference

from dev.calls import RecordedCall, module_of, results_of
from et_ir.dialects.edge import EdgeOp
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import edge_passes, executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import EmitOptions, write
from et_ir.targets.lookup import DEFAULT, find_target

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]

AVOIDING = ("legalize", "decompose-quantized", "kernel-limits")
"""The passes that ask for limits."""


@pytest.fixture(scope="module")
def spoilt() -> Iterator[StockRuntime]:
    """The stock runtime for calls that it may not survive."""
    with StockRuntime() as runtime:
        yield runtime


def recorded(call: Call) -> RecordedCall:
    overload, args, kwargs = call
    return RecordedCall(overload, args, kwargs, results_of(overload(*args, **kwargs)))


def lowered(call: RecordedCall, target: str) -> tuple[EdgeOp, bytes, list[torch.Tensor]]:
    """The only edge op of a call, its file and its inputs."""
    module, _, inputs = module_of(call)
    run_passes(module, edge_passes())
    (op,) = (op for op in module.clone().walk() if isinstance(op, EdgeOp))
    passes = executorch_passes(ExecutorchBackendConfig(target=target))
    run_passes(module, [one for one in passes if one.name not in AVOIDING])
    stream = io.BytesIO()
    write(module, stream, EmitOptions())
    return op, stream.getvalue(), inputs


def run(stock: StockRuntime, path: Path, inputs: Sequence[torch.Tensor]) -> list[Any] | None:
    """The results of a file; None if the runtime refuses it or ends."""
    try:
        return stock.run(path, inputs)
    except StockError:
        return None


Q = torch.ops.quantized_decomposed
FLOATS = (torch.float16, torch.bfloat16, torch.float32)
LEVELS = (torch.uint8, torch.int8, torch.int16, torch.int32)
RANGE = (0, 100)
ROWS, COLUMNS = 40, 3
SHAPES = {"tensor": (1,), "channel": (COLUMNS,), "token": (ROWS, 1)}


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(5), dtype=dtype)


PARAMETERS = (
    (torch.float64, torch.int64),
    (torch.float32, torch.int64),
    (torch.float16, torch.int64),
    (torch.float64, torch.int32),
    (torch.float64, torch.float32),
)
"""Types of scales and of zero points."""


def parameters(of: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Scales and zero points, first in the types that all kernels take."""
    scales = numbers(*SHAPES[of]) * 0.05 + 0.01
    return [(scales.to(scale), (scales * 500).to(zero)) for scale, zero in PARAMETERS]


def calls(overload: Any, first: Sequence[torch.Tensor], of: str, *rest: Any) -> Iterator[Call]:
    """Calls with each of the first operands, and the last of these with parameters of each type."""
    taken, *others = parameters(of)
    yield from ((overload, (x, *taken, *rest), {}) for x in first)
    yield from ((overload, (first[-1], *other, *rest), {}) for other in others)


def quantized_calls() -> Iterator[Call]:
    """Each operator with the types of its operands and of its result that torch takes, one after the other."""
    x = [(numbers(ROWS, COLUMNS) * 3 - 1).to(dtype) for dtype in FLOATS]
    q = [(numbers(ROWS, COLUMNS) * 100).to(dtype) for dtype in LEVELS]
    i8 = torch.int8
    for each in x:
        yield Q.choose_qparams.tensor, (each, *RANGE, 1e-5, i8), {}
        yield Q.choose_qparams_per_token_asymmetric.default, (each, i8), {}
        yield Q.quantize_per_tensor.default, (each, 0.02, 3, *RANGE, i8), {}
    yield from ((Q.quantize_per_tensor.default, (x[-1], 0.02, 3, *RANGE, level), {}) for level in LEVELS)
    yield from calls(Q.quantize_per_tensor.tensor, x, "tensor", *RANGE, i8)
    yield from calls(Q.quantize_per_channel.default, x, "channel", 1, *RANGE, i8)
    yield from calls(Q.quantize_per_token.default, x, "token", *RANGE, i8)
    for each in q:
        yield Q.dequantize_per_tensor.default, (each, 0.02, 3, *RANGE, each.dtype), {}
        for found in (
            calls(Q.dequantize_per_tensor.tensor, [each], "tensor", *RANGE, each.dtype),
            calls(Q.dequantize_per_channel.default, [each], "channel", 1, *RANGE, each.dtype),
            calls(Q.dequantize_per_token.default, [each], "token", *RANGE, each.dtype, torch.float32),
        ):
            yield from found if each.dtype == i8 else islice(found, 1)
    channel, token = parameters("channel")[0], parameters("token")[0]
    for out in (torch.float16, torch.bfloat16, torch.float64):
        named = {"out_dtype": out}
        yield Q.dequantize_per_tensor.default, (q[1], 0.02, 3, *RANGE, i8), named
        yield Q.dequantize_per_channel.default, (q[1], *channel, 1, *RANGE, i8), named
        yield Q.dequantize_per_token.default, (q[1], *token, *RANGE, i8, out), {}


QUANTIZED: defaultdict[str, list[Call]] = defaultdict(list)
for each in quantized_calls():
    QUANTIZED[each[0].name().removeprefix("quantized_decomposed::")].append(each)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_kernels(name: str, quantized_stock: StockRuntime, tmp_path: Path) -> None:
    """To the bit."""
    target = find_target(f"{DEFAULT}-quantized")
    assert target.quantized_as_torch is not None
    path = tmp_path / "call.pte"
    for each in QUANTIZED[name]:
        call = recorded(each)
        op, file, inputs = lowered(call, target.name)
        path.write_bytes(file)
        found = run(quantized_stock, path, inputs)
        same = found is not None and all(
            got.dtype == wanted.dtype and torch.equal(got, wanted)
            for got, wanted in zip(found, call.results, strict=True)
        )
        assert same == target.quantized_as_torch(op), call


A = torch.ops.aten


def complex_(*shape: int, dtype: torch.dtype = torch.complex64) -> torch.Tensor:
    return numbers(*shape, dtype=dtype) - (1 + 0.5j)


def convolutions() -> Iterator[Call]:
    for rank in (1, 2, 3):
        image, weight = numbers(1, 2, *[5] * rank), numbers(3, 2, *[3] * rank)
        geometry = [1] * rank, [0] * rank, [1] * rank, False, [0] * rank, 1
        yield A.convolution.default, (image, weight, None, *geometry), {}


def gradients() -> Iterator[Call]:
    for rank, transposed in ((1, False), (2, False), (2, True), (3, False)):
        image, weight = numbers(1, 2, *[5] * rank), numbers(2, 2, *[3] * rank)
        size = 7 if transposed else 3
        geometry = [1] * rank, [0] * rank, [1] * rank, transposed, [0] * rank, 1
        yield (
            A.convolution_backward.default,
            (numbers(1, 2, *[size] * rank), image, weight, [2], *geometry, [True] * 3),
            {},
        )


def products() -> Iterator[Call]:
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 1, 4), (3, 1)), ((0, 3), (3,))]
    shapes += [((1,), (1,)), ((2, 3), (1,)), ((1, 1), (2, 3)), ((2, 3), ())]
    for dtype in (torch.complex64, torch.complex128):
        for a, b in shapes:
            yield A.mul.Tensor, (complex_(*a, dtype=dtype), complex_(*b, dtype=dtype)), {}


def transforms() -> Iterator[Call]:
    for onesided in (True, False):
        yield A._fft_r2c.default, (numbers(3, 8), [1], 0, onesided), {}


def conversions() -> Iterator[Call]:
    types = (torch.complex64, torch.complex128)
    for given in (
        *types,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.int64,
        torch.bool,
    ):
        x = complex_(1, 2, 3, 4, dtype=given) if given.is_complex else (numbers(1, 2, 3, 4) * 3).to(given)
        for dtype in types:
            for layout in ({}, {"memory_format": torch.channels_last}):
                yield A._to_copy.default, (x,), {"dtype": dtype, **layout}
                if not given.is_complex:
                    yield A._to_copy.default, (complex_(1, 2, 3, 4, dtype=dtype),), {"dtype": given, **layout}


def copies() -> Iterator[Call]:
    for dtype in (torch.complex64, torch.complex128):
        x = complex_(1, 2, 3, 4, dtype=dtype)
        yield A.clone.default, (x,), {}
        yield A.clone.default, (x,), {"memory_format": torch.channels_last}


def lookups() -> Iterator[Call]:
    i = torch.tensor([0, 2])
    for indices in (
        [i],
        [i.int()],
        [None, i],
        [None, None, i],
        [i, i],
        [i, None, i],
        [i.reshape(2, 1)],
        [i[0]],
    ):
        yield A.index.Tensor, (complex_(3, 3, 3), indices), {}
    yield A.index.Tensor, (complex_(5), [i]), {}
    yield A.index.Tensor, (complex_(5), [i[:0]]), {}


LIMITED = {
    one.__name__: one for one in (convolutions, gradients, products, transforms, conversions, copies, lookups)
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", LIMITED)
def test_kernels(name: str, stock: StockRuntime, spoilt: StockRuntime, tmp_path: Path) -> None:
    target = find_target(DEFAULT)
    assert target.limits is not None
    path = tmp_path / "call.pte"
    seen: set[bool] = set()
    for each in LIMITED[name]():
        call = recorded(each)
        op, file, inputs = lowered(call, target.name)
        path.write_bytes(file)
        limits = list(target.limits(op))
        seen.add(not limits)
        found = run(spoilt if limits else stock, path, inputs)
        same = found is not None and difference(found, call.results) is None
        assert same == (not limits), f"{call}: {limits}"
    assert seen == {True, False}
