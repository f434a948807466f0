"""The arithmetic of quantised operators gives what torch's kernels give, to the bit."""

from __future__ import annotations

import io
from itertools import islice
from typing import Any

import pytest
import torch
from support.quantized_cases import Q, quantized
from torch._ops import OpOverloadPacket

from dev.calls import RecordedCall, module_of
from dev.quantized_calls import RUNTIME_EXAMPLES
from et_ir.dialects.edge import EdgeOp
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import edge_passes, executorch_passes
from et_ir.driver.stages import run_passes, run_pipeline
from et_ir.emit import EmitOptions, write
from et_ir.passes.to_executorch.decompose_quantized import DECOMPOSITIONS
from et_ir.targets.lookup import DEFAULT, find_target
from et_vm.runtime import Runtime

EACH = 5
"""One case in so many is run; which are, changes with what there are."""


def called(case: tuple[Any, ...]) -> RecordedCall:
    target, *args = case
    kwargs: dict[str, Any] = args.pop() if args and isinstance(args[-1], dict) else {}
    overload = target.default if isinstance(target, OpOverloadPacket) else target
    with torch.no_grad():
        found = overload(*args, **kwargs)
    return RecordedCall(overload, tuple(args), kwargs, tuple(found) if isinstance(found, tuple) else (found,))


def collected() -> list[Any]:
    torch.manual_seed(0)
    return [
        pytest.param(case, id=f"{number}-{str(case[0]).removeprefix('quantized_decomposed.')}")
        for number, case in enumerate(quantized())
    ]


CASES = collected()


@pytest.mark.parametrize("case", list(islice(CASES, 0, None, EACH)))
def test_computes_what_torch_computes(case: tuple[Any, ...]) -> None:
    call = called(case)
    module, _, inputs = module_of(call)
    run_passes(module, edge_passes())
    run_pipeline(module, "decompose-quantized,verify-edge")
    assert not any(isinstance(op, EdgeOp) and "quantized" in op.name for op in module.walk())
    run_passes(module, executorch_passes(ExecutorchBackendConfig(target="et-vm")))
    stream = io.BytesIO()
    write(module, stream, EmitOptions())
    found = Runtime.get().load_program(stream.getvalue()).load_method("forward").execute(inputs)
    for got, expected in zip(found, call.results, strict=True):
        torch.testing.assert_close(got, expected.contiguous(), rtol=0, atol=0)


def test_every_decomposition_has_a_case() -> None:
    cases = {f"edge.{called(parameter.values[0]).name}" for parameter in CASES}
    assert {cls.name for cls in DECOMPOSITIONS} == cases | {f"edge.{name}" for name in RUNTIME_EXAMPLES}


def edge_op(*case: Any) -> EdgeOp:
    module, _, _ = module_of(called(case))
    run_passes(module, edge_passes())
    (op,) = (op for op in module.walk() if isinstance(op, EdgeOp))
    return op


def test_stock_kernels_that_are_called() -> None:
    """Those of element types that end the process, or that give other numbers than torch, are not."""
    x, one, zero = torch.ones(2, 3), torch.ones(1), torch.zeros(1, dtype=torch.int64)
    limits = -128, 127, torch.int8
    computes_as_torch = find_target(f"{DEFAULT}-quantized").quantized_as_torch
    assert computes_as_torch is not None
    assert computes_as_torch(edge_op(Q.quantize_per_tensor, x, 0.5, 0, *limits))
    assert not computes_as_torch(edge_op(Q.quantize_per_tensor, x.bfloat16(), 0.5, 0, *limits))
    assert computes_as_torch(edge_op(Q.quantize_per_tensor.tensor, x, one.double(), zero, *limits))
    assert not computes_as_torch(edge_op(Q.quantize_per_tensor.tensor, x, one, zero, *limits))
    assert not computes_as_torch(edge_op(Q.choose_qparams.tensor, x, *limits[:2], 1e-5, torch.int8))
    scales, zeros = torch.ones(2), torch.zeros(2, dtype=torch.int64)
    for scale, place in ((scales.double(), zeros), (scales, zeros), (scales.double(), zeros.int())):
        good = (scale.dtype, place.dtype) == (torch.float64, torch.int64)
        by_channel = edge_op(Q.quantize_per_channel, x, scale, place, 0, *limits)
        by_token = edge_op(Q.quantize_per_token, x, scale[:, None], place[:, None], *limits)
        assert (computes_as_torch(by_channel), computes_as_torch(by_token)) == (good, good)
    levels = x.to(torch.int8)
    for out, good in (
        (torch.float32, True),
        (torch.float16, True),
        (torch.bfloat16, False),
        (torch.float64, False),
    ):
        op = edge_op(Q.dequantize_per_tensor, levels, 0.5, 0, *limits, {"out_dtype": out})
        assert computes_as_torch(op) == good


def test_stock_kernels_of_releases() -> None:
    """A release takes types that the one before it does not."""
    old, new = (find_target(f"stock-{release}-quantized").quantized_as_torch for release in ("1.4", "1.5"))
    assert old is not None
    assert new is not None
    levels, scales = torch.zeros(2, 3, dtype=torch.uint8), torch.ones(2, 1)
    zeros = torch.zeros(2, 1, dtype=torch.int32)
    op = edge_op(Q.dequantize_per_token, levels, scales, zeros, 0, 255, torch.uint8, torch.float32)
    assert new(op)
    assert not old(op)
