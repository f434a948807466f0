"""The quantized operators against torch, and where torch has none against the stock kernels: equal to the bit
but for sums of products.
"""

from __future__ import annotations

import pytest
import torch
from kernel_oracle import Recorded, as_argument, blank_like, check, run_kernel, tensor_of
from kernel_samples_quantized import quantized_calls, recorded_stock_calls

from et_schema.errors import Trap
from et_vm.kernels.aten.quantized import quantized_kernels
from et_vm.values import Tensor

SUMS = ("quantized_decomposed::mixed_mm.out", "quantized_decomposed::mixed_linear.out")


@pytest.fixture(scope="module")
def calls() -> list[Recorded]:
    return [*quantized_calls(), *recorded_stock_calls()]


@pytest.mark.parametrize("library", ["portable", "aten"])
def test_results(calls: list[Recorded], library: str) -> None:
    assert {call.operator for call in calls} == set(quantized_kernels())
    for call in calls:
        if call.operator in SUMS:
            check(library, call)
            continue
        outs = [blank_like(result) for result in call.results]
        run_kernel(library, call.operator, tuple(map(as_argument, call.arguments)), list(outs))
        for out, result in zip(outs, call.results, strict=True):
            torch.testing.assert_close(
                tensor_of(out), result.contiguous(), rtol=0, atol=0, equal_nan=True, msg=str(call)
            )


def _refused(call: Recorded, at: int, value: object) -> str:
    arguments = [*call.arguments]
    arguments[at] = value
    with pytest.raises(Trap) as caught:
        run_kernel(
            "portable", call.operator, tuple(map(as_argument, arguments)), [*map(blank_like, call.results)]
        )
    return str(caught.value)


def _first(calls: list[Recorded], name: str) -> Recorded:
    return next(call for call in calls if call.operator == f"quantized_decomposed::{name}")


def test_refusals(calls: list[Recorded]) -> None:
    quantize = _first(calls, "quantize_per_tensor.out")
    assert "argument 'dtype'" in _refused(quantize, 5, torch.float32)
    assert "argument 'quant_max'" in _refused(quantize, 4, 1 << 20)
    assert "argument 'scale'" in _refused(quantize, 1, 0.0)
    assert "argument 'input'" in _refused(quantize, 0, torch.zeros(4, 7, dtype=torch.int64))
    assert "argument 'scales'" in _refused(_first(calls, "quantize_per_channel.out"), 1, torch.ones(5))
    group = _first(calls, "quantize_per_channel_group.out")
    assert "argument 'group_size'" in _refused(group, 6, 3)
    assert "argument 'input'" in _refused(group, 0, torch.full((3, 8), float("nan")))
    embedding = _first(calls, "embedding_4bit.out")
    assert "argument 'weight'" in _refused(embedding, 0, torch.zeros(5, 4, dtype=torch.int8))
    assert "argument 'indices'" in _refused(embedding, 5, torch.full((2, 3), 5))
    assert "argument 'weight_zero_points'" in _refused(_first(calls, "mixed_mm.out"), 3, torch.zeros(6))
    assert "argument 'quant_min'" in _refused(_first(calls, "choose_qparams.Tensor_out"), 1, 3)


def test_an_empty_tensor_is_quantized_to_nothing() -> None:
    out = blank_like(torch.empty(0, 3, dtype=torch.int8))
    arguments = (torch.empty(0, 3), 0.5, 0, -128, 127, torch.int8)
    run_kernel(
        "portable", "quantized_decomposed::quantize_per_tensor.out", tuple(map(as_argument, arguments)), [out]
    )
    assert isinstance(out, Tensor)
    assert out.sizes == (0, 3)
