"""Operators that back ends compute by formula: delegated whole, and right at the ends of the range."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import pytest
import torch
from support.programs import Calls, exported, operators
from torch import Tensor
from torch.nn import functional as F

from et_backends.openvino.compiler import blob, export_model
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_vm.runtime import Runtime

CONFIG: Final = ExecutorchBackendConfig(target="et-vm")

MODERATE: Final = torch.tensor(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, -6.0, 20.5, -20.5, 1e-3, -1e-3, 1e-7, -1e-7, 1e-20]
)
ANY: Final = torch.cat(
    [MODERATE, torch.tensor([60.0, -60.0, 85.0, -85.0, 1e9, -1e9, 1e30, -1e30, inf, -inf])]
)
ABOVE: Final = torch.tensor([1.0, 1.0001, 1.5, 2.0, 70.0, 1e9, 1e30, inf])
BELOW: Final = torch.tensor([0.0, 0.1, -0.1, 0.7, -0.7, 0.999, -0.999, 1e-7, -1e-7, 1.0, -1.0])
POSITIVE: Final = torch.tensor([1e-20, 1e-3, 0.3, 1.0, 2.0, 88.0, 1e30, inf])

FUNCTIONS: Final[dict[str, tuple[Callable[[Tensor], Tensor], Tensor]]] = {
    "acosh": (torch.acosh, ABOVE),
    "asinh": (torch.asinh, ANY),
    "atanh": (torch.atanh, BELOW),
    "celu": (lambda x: F.celu(x, 0.5), ANY),
    "clamp above": (lambda x: x.clamp(max=0.5), ANY),
    "clamp below": (lambda x: x.clamp(min=0.5), ANY),
    "clamp between crossing bounds": (lambda x: x.clamp(2.0, -1.0), ANY),
    "clamp by tensors": (lambda x: x.clamp(x * 0.5, x + 1.0), MODERATE),
    "cosh": (torch.cosh, ANY),
    "divide and truncate": (lambda x: torch.div(x, 0.7, rounding_mode="trunc"), MODERATE),
    "elu with a negative alpha": (lambda x: F.elu(x, -0.5), ANY),
    "expm1": (torch.expm1, ANY),
    "hardsigmoid": (F.hardsigmoid, ANY),
    "hardswish": (F.hardswish, MODERATE),
    "isinf": (lambda x: torch.where(x.isinf(), 1.0, x), ANY),
    "isnan": (lambda x: torch.where(x.isnan(), 1.0, x), ANY),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.3), ANY),
    "log10": (torch.log10, POSITIVE),
    "log1p": (torch.log1p, torch.cat([POSITIVE, torch.tensor([0.0, -0.5, -1e-7, -1.0])])),
    "log2": (torch.log2, POSITIVE),
    "logit": (torch.logit, BELOW[1::2].abs()),
    "mish": (F.mish, MODERATE),
    "reciprocal": (torch.reciprocal, ANY),
    "rsqrt": (torch.rsqrt, POSITIVE),
    "selu": (F.selu, ANY),
    "sign": (torch.sign, ANY),
    "silu": (F.silu, MODERATE),
    "sinh": (torch.sinh, ANY),
    "softplus": (lambda x: F.softplus(x, 2.0), MODERATE),
    "tan": (torch.tan, MODERATE),
    "threshold": (lambda x: F.threshold(x, 0.5, -7.0), ANY),
    "trunc": (torch.trunc, ANY),
}

LEFT: Final[dict[str, dict[str, str]]] = {
    "coreml": {},
    "openvino": {},
    "tosa": {"divide and truncate": "a quotient that is rounded"},
    "xnnpack": {
        **dict.fromkeys(("acosh", "asinh", "isinf", "isnan", "trunc", "sign"), "XNNPACK has no such node"),
        **dict.fromkeys(("atanh", "log1p", "mish", "softplus", "threshold"), "XNNPACK has no such node"),
        **dict.fromkeys(("clamp by tensors", "divide and truncate"), "XNNPACK has no such node"),
    },
}
"""Operators without delegation, by back end, with a part of the reason."""

CASES: Final = [(backend, name) for backend in LEFT for name in FUNCTIONS]


@pytest.fixture(autouse=True)
def _openvino_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each model: that changes the names of nodes alone."""
    monkeypatch.setattr(blob, "export_apart", export_model.export)


@pytest.mark.parametrize(("backend", "name"), CASES, ids=str)
def test_a_function(backend: str, name: str) -> None:
    function, numbers = FUNCTIONS[name]
    x = numbers.repeat(2, 1)
    partitioner = make_partitioner(backend)
    made = to_edge_transform_and_lower(exported(Calls(function), x), partitioner=partitioner)
    file = made.to_executorch(CONFIG).buffer
    method = Runtime().load_program(file, allow_native=True).load_method("forward")
    (found,) = method.execute([x.clone()])
    torch.testing.assert_close(torch.as_tensor(found), function(x), rtol=2e-6, atol=1e-7, equal_nan=True)
    reason = LEFT[backend].get(name)
    if reason is None:
        assert len(operators(file)) == 1, operators(file)
    else:
        assert reason in str(made.delegation), str(made.delegation)
