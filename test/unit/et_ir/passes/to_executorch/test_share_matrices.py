"""Products with repeated matrices are the same numbers as in eager torch, and nothing is repeated for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.targets.lookup import DEFAULT
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

_Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
KEYS, WIDTH = 24, 16


def _repeat(one: Tensor, times: int) -> Tensor:
    """As transformers' `repeat_kv` does it."""
    batch, heads, rows, columns = one.shape
    expanded = one[:, :, None].expand(batch, heads, times, rows, columns)
    return expanded.reshape(batch, heads * times, rows, columns)


def _weigh(scores: Tensor) -> Tensor:
    """Small integers stay such: all sums are exact in any order."""
    return scores.remainder(5)


def repeated(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    times = q.shape[1] // k.shape[1]
    return _weigh(q @ _repeat(k, times).transpose(2, 3)) @ _repeat(v, times)


def transposed_before(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    times = q.shape[1] // k.shape[1]
    return _weigh(q @ _repeat(k.transpose(2, 3), times)) @ _repeat(v, times)


def interleaved(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    times = q.shape[1] // k.shape[1]
    return _weigh(q @ k.repeat_interleave(times, 1).mT) @ v.repeat_interleave(times, 1)


def broadcast(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    groups = q.unflatten(1, (k.shape[1], q.shape[1] // k.shape[1]))
    return (_weigh(groups @ k.unsqueeze(2).mT) @ v.unsqueeze(2)).flatten(1, 2)


FORMS: list[_Attention] = [repeated, transposed_before, interleaved, broadcast]


class _Module(torch.nn.Module):
    def __init__(self, function: _Attention):
        super().__init__()
        self.function = function

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.function(q, k, v)


def _inputs(batch: int, groups: int, times: int, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    shapes = ((groups * times, rows), (groups, KEYS), (groups, KEYS))
    q, k, v = (
        torch.randint(-4, 5, (batch, heads, size, WIDTH), generator=generator).float()
        for heads, size in shapes
    )
    return q, k, v


def _check(
    function: _Attention, target: str, sizes: tuple[int, int, int], rows: list[int], rtol: float = 0
) -> None:
    """Compile for a number of rows, or any if there are several, and compare with eager torch."""
    module = _Module(function)
    length = torch.export.Dim("length", min=1, max=9)
    dynamic = ({2: length}, None, None) if len(rows) > 1 else None
    program = torch.export.export(module, _inputs(*sizes, rows[0]), dynamic_shapes=dynamic)
    compiled = to_edge(program).to_executorch(ExecutorchBackendConfig(target=target))
    (plan,) = read_pte(memoryview(compiled.buffer)).program.execution_plan
    assert not any("expand" in str(one.name) for one in plan.operators)
    method = Runtime().load_program(compiled.buffer, poison=True).load_method("forward")
    for number in rows:
        inputs = _inputs(*sizes, number)
        (found,) = method.execute(inputs)
        torch.testing.assert_close(torch.as_tensor(found), module(*inputs), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("target", [DEFAULT, "et-vm"])
@pytest.mark.parametrize("rows", [[1], [3], [5, 1, 9]], ids=["one", "static", "dynamic"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_groups_of_heads(form: _Attention, rows: list[int], target: str) -> None:
    _check(form, target, (1, 2, 4), rows)


@pytest.mark.parametrize("sizes", [(3, 2, 2), (2, 1, 4)], ids=["batch", "one-group"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_batches(form: _Attention, sizes: tuple[int, int, int]) -> None:
    _check(form, "et-vm", sizes, [2])


@pytest.mark.parametrize("rows", [[1], [5, 1, 9]], ids=["one", "dynamic"])
def test_attention_of_torch(rows: list[int]) -> None:
    """`scaled_dot_product_attention`, for which exponentials are rounded."""

    def grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    _check(grouped, "et-vm", (1, 2, 4), rows, rtol=1e-5)
