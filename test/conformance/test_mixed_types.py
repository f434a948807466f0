"""Type promotion end to end: operators on every pair of element types, compiled and run, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import Tensor, nn

from et_ir import ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime

DTYPES: Final = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)

OPERATORS: Final[dict[str, Callable[[Tensor, Tensor], Any]]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "floor_div": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "pow": torch.pow,
    "atan2": torch.atan2,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "clamp": lambda a, b: torch.clamp(a, b, b),
    "eq": torch.eq,
    "lt": torch.lt,
    "logical_and": torch.logical_and,
    "bitwise_or": torch.bitwise_or,
    "where": lambda a, b: torch.where(a > 1, a, b),
    "cat": lambda a, b: torch.cat([a, b]),
    "stack": lambda a, b: torch.stack([a, b]),
    "addcmul": lambda a, b: torch.addcmul(a, a, b),
    "masked_fill": lambda a, b: a.masked_fill(b > 2, 1),
    "tensor of rank 0": lambda a, b: a * b.flatten()[0],
    "python int": lambda a, b: a + 2,
    "python float": lambda a, b: a * 1.5,
    "python bool": lambda a, b: a + True,
    "reflected": lambda a, b: 2**a,
    "mean of a sum": lambda a, b: (a + b).float().mean(),
}


def sample(dtype: torch.dtype) -> Tensor:
    """Six numbers that no operation overflows or divides by zero with."""
    if dtype == torch.bool:
        return torch.tensor([[True, True, True], [True, True, True]])
    return torch.tensor([[1, 2, 3], [4, 3, 1]]).to(dtype) + (0.5 if dtype.is_floating_point else 0)


class All(nn.Module):
    """Every operator that torch has for the element types of its arguments."""

    def __init__(self, operators: list[Callable[[Tensor, Tensor], Any]]) -> None:
        super().__init__()
        self.operators = operators

    def forward(self, a: Tensor, b: Tensor) -> tuple[Any, ...]:
        return tuple(operator(a, b) for operator in self.operators)


def has(operator: Callable[[Tensor, Tensor], Any], a: Tensor, b: Tensor) -> bool:
    try:
        operator(a, b)
    except (RuntimeError, IndexError):
        return False
    return True


@pytest.mark.sweep
@pytest.mark.parametrize("right", DTYPES, ids=str)
@pytest.mark.parametrize("left", DTYPES, ids=str)
def test_every_operator(left: torch.dtype, right: torch.dtype) -> None:
    a, b = sample(left), sample(right)
    names = [name for name, operator in OPERATORS.items() if has(operator, a, b)]
    assert len(names) > len(OPERATORS) / 2
    module = All([OPERATORS[name] for name in names])
    edge = to_edge(torch.export.export(module, (a, b)))
    program = edge.to_executorch(ExecutorchBackendConfig(target="et-vm"))
    actual = Runtime.get().load_program(program.buffer).load_method("forward").execute([a, b])
    for name, one, other in zip(names, actual, module(a, b), strict=True):
        assert one.dtype == other.dtype, name
        loose = {torch.float16: 1e-3, torch.bfloat16: 1e-2}.get(other.dtype, 1e-5)
        torch.testing.assert_close(
            one, other, rtol=loose, atol=loose, msg=lambda m, name=name: f"{name}: {m}"
        )
