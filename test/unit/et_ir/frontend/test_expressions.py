"""Sizes in types of what an operator is traced to: in the symbols of the call, where the trace holds for them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import sympy
import torch
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType

from et_ir.dialects.schema.tensors import Size, sizes_of
from et_ir.frontend import import_program
from et_ir.frontend.expressions import translation_of_trace
from et_ir.passes.aten_to_core.decompose_traced import DecomposeTracedPass
from et_ops.intervals import Interval
from et_ops.sizes import Expression

A, B = sympy.symbols("s0 s1", integer=True)
N, M = Expression.of("n"), Expression.of("m")


def shape(*sizes: Any) -> Sequence[Any]:
    """Sizes as a trace has them: numbers, and objects with a node that has an expression."""
    return [s if isinstance(s, int) else SimpleNamespace(node=SimpleNamespace(expr=s)) for s in sizes]


@pytest.mark.parametrize(
    ("traced", "least", "expected"),
    [
        (A, 0, N * 2),
        (A * B + 3, 0, N * 2 * M + 3),
        (A - 1, 2, N * 2 - 1),
        # Torch takes no size for 0: of a symbol that may be, a difference is not the size in every run.
        (B - 1, 0, None),
        (B - 1, 2, M - 1),
        (sympy.Symbol("s7"), 2, None),
    ],
)
def test_traces_in_the_symbols_of_calls(traced: Any, least: int, expected: Expression | None):
    operands: list[tuple[Sequence[Any], Sequence[Size]]] = [
        (shape(A, 4), (N * 2, 4)),
        (shape(B, A, A), (M, None, N)),
    ]
    ranges = {"n": Interval(max(least, 1), 9), "m": Interval(least, 9)}
    assert translation_of_trace(operands, ranges)(traced) == expected


class CrossAttention(torch.nn.Module):
    """Its heads are viewed by a symbol of the batch that torch later finds to be that of the other input."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return self.attention(q, k, k, need_weights=False)[0]


def test_sizes_that_torch_finds_to_be_numbers():
    batch, length, other = (torch.export.Dim(name, max=8) for name in ("batch", "length", "other"))
    program = torch.export.export(
        CrossAttention().eval(),
        (torch.randn(2, 3, 8), torch.randn(2, 5, 8)),
        dynamic_shapes=({0: batch, 1: length}, {0: batch, 1: other}),
    )
    module = import_program(program)
    types = [r.type for op in module.walk() for r in op.results if isinstance(r.type, TensorType)]
    assert all(size is not None for type in types for size in sizes_of(type))


def test_every_value_of_a_traced_network_has_its_size():
    program = torch.export.export(
        torch.nn.GRUCell(4, 3), (torch.randn(3, 4),), dynamic_shapes=({0: torch.export.Dim("n", max=8)},)
    )
    module = import_program(program)
    DecomposeTracedPass().apply(Context(), module)
    types = [r.type for op in module.walk() for r in op.results if isinstance(r.type, TensorType)]
    assert any(not type.has_static_shape() for type in types)
    assert all(size is not None for type in types for size in sizes_of(type))
