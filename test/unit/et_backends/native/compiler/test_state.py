"""Updates of state within partitions: made in place, and complete or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from support.native_modules import SETS
from torch import Tensor, nn

from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge_transform_and_lower
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.executorch import DelegateCallOp, Instruction, PlanOp, StateOp
from et_ir.emit.disassemble import disassemble
from et_schema.errors import ExecutorchError
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

HEADS, PLACES, SIZE = 3, 40, 20


class Attention(nn.Module):
    """Attention of the heads of new tokens over a cache, which their keys and values are written to first."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.keys = nn.Buffer(torch.zeros(1, HEADS, PLACES, SIZE, dtype=dtype))
        self.values = nn.Buffer(torch.zeros(1, HEADS, PLACES, SIZE, dtype=dtype))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        new = x.to(self.keys.dtype)
        keys = self.keys.index_copy_(2, at, new).to(x.dtype)
        values = self.values.index_copy_(2, at, -new).to(x.dtype)
        seen = torch.arange(PLACES) <= at[:, None]
        scores = (x @ keys.transpose(2, 3)).masked_fill(~seen, -torch.inf)
        return torch.softmax(scores, -1) @ values


def compiled(
    module: nn.Module, arguments: tuple[Tensor, ...], *, dynamic_shapes: Any = None, **options: Any
) -> ExecutorchProgramManager:
    program = torch.export.export(module.eval(), arguments, dynamic_shapes=dynamic_shapes)
    partitioner = NativePartitioner(instruction_sets=SETS[:1], **options)
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm"))


def instructions(manager: ExecutorchProgramManager) -> Sequence[Instruction]:
    return next(op for op in manager.module.body.block.ops if isinstance(op, PlanOp)).instructions


def new(tokens: int) -> Tensor:
    return torch.randn(1, HEADS, tokens, SIZE)


def updated_states(op: Instruction) -> list[str]:
    """The state that a delegate reads and writes."""
    assert isinstance(op, DelegateCallOp)
    return [one.owner.key for one in op.outs if one in op.inputs and isinstance(one.owner, StateOp)]


@pytest.mark.parametrize("options", [{}, {"fallback": True}, {"values": True}], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8], ids=str)
def test_one_call_updates_the_cache(dtype: torch.dtype, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    module = Attention(dtype)
    calls = [(new(2) * 9, torch.tensor(places)) for places in ([0, 1], [2, 3], [1, 2], [38, 39])]
    manager = compiled(module, calls[0], **options)
    call, _ = instructions(manager)  # and the return
    assert sorted(updated_states(call)) == ["keys", "values"]
    with torch.no_grad():
        expected = [module(*one).numpy() for one in calls]
    for threads, allowed in ((1, True), (2, True), *(((1, False),) if "fallback" in options else ())):
        program = Runtime(threads=threads).load_program(manager.buffer, allow_native=allowed, poison=True)
        method = program.load_method("forward")
        for one, wanted in zip(calls, expected, strict=True):
            np.testing.assert_allclose(method.execute(list(one))[0], wanted, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(method.get_attribute("keys"), module.keys.numpy())


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_is_written_for_an_index_out_of_range(threads: int) -> None:
    manager = compiled(Attention(), (new(3), torch.arange(3)))
    method = Runtime(threads=threads).load_program(manager.buffer, allow_native=True).load_method("forward")
    method.execute([new(3), torch.tensor([0, 1, 2])])
    before = {name: method.get_attribute(name).copy() for name in ("keys", "values")}
    for wrong in (PLACES, -PLACES - 1, 2**40):
        with pytest.raises(ExecutorchError, match="aten::index_put: an index is out of range"):
            method.execute([new(3), torch.tensor([3, wrong, 5])])
        for name, held in before.items():
            np.testing.assert_array_equal(method.get_attribute(name), held)


class _Embeds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 6)
        self.cache = nn.Buffer(torch.zeros(8, 6))
        self.last = nn.Buffer(torch.zeros(3, 6))

    def forward(self, ids: Tensor, at: Tensor) -> Tensor:
        x = self.embedding(ids)
        self.cache.index_copy_(0, at, x)
        self.last[1:].copy_(x)
        return self.cache.sum(1)


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_is_written_after_an_invalid_argument(threads: int) -> None:
    manager = compiled(_Embeds(), (torch.tensor([1, 2]), torch.tensor([3, 4])))
    call, _ = instructions(manager)
    assert sorted(updated_states(call)) == ["cache", "last"]
    method = Runtime(threads=threads).load_program(manager.buffer, allow_native=True).load_method("forward")
    method.execute([torch.tensor([1, 2]), torch.tensor([3, 4])])
    before = {name: method.get_attribute(name).copy() for name in ("cache", "last")}
    with pytest.raises(ExecutorchError, match="aten::embedding: an index is out of range"):
        method.execute([torch.tensor([5, 10]), torch.tensor([4, 5])])
    for name, held in before.items():
        np.testing.assert_array_equal(method.get_attribute(name), held)


class _ReadsBefore(Attention):
    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        before = self.keys.sum(2)
        return super().forward(x, at).sum(2) + before


class _Returns(Attention):
    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().forward(x, at), self.keys.clone()


class _Swaps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Buffer(torch.zeros(4, 3))
        self.other = nn.Buffer(torch.ones(4, 3))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        one, other = self.one.index_copy(0, at, x), self.other.index_copy(0, at, 2 * x)
        self.one.copy_(other)
        self.other.copy_(one)
        return one @ other.T


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (_ReadsBefore, lambda: new(2)),
        (_Returns, lambda: new(2)),
        (_Swaps, lambda: torch.randn(2, 3)),
    ],
    ids=["reads-before", "returns", "swaps"],
)
def test_state_that_is_needed_as_it_was(make: Callable[[], nn.Module], given: Callable[[], Tensor]) -> None:
    torch.manual_seed(0)
    module = make()
    calls = [(given(), torch.tensor(places)) for places in ([0, 1], [2, 3], [1, 2])]
    method = (
        Runtime(threads=2)
        .load_program(compiled(module, calls[0]).buffer, allow_native=True, poison=True)
        .load_method("forward")
    )
    found = [method.execute(list(call)) for call in calls]
    with torch.no_grad():
        for call, outputs in zip(calls, found, strict=True):
            expected = module(*call)
            wanted = expected if isinstance(expected, tuple) else (expected,)
            torch.testing.assert_close(tuple(outputs), wanted, rtol=1e-5, atol=1e-5)


class _Permutes(nn.Module):
    """Elements of an argument that is updated, in places that it tells itself or in others."""

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, ...]:
        x.copy_(x.scatter(0, at, x) if x.is_floating_point() else x.scatter(0, x, 5))
        return x * 2, x.scatter_add(0, at, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_an_input_that_is_read_beside_its_update(dtype: torch.dtype) -> None:
    x, at = torch.tensor([1, 2, 3, 0], dtype=dtype), torch.tensor([1, 2, 3, 0])
    manager = compiled(_Permutes(), (x.clone(), at))
    method = Runtime(threads=1).load_program(manager.buffer, allow_native=True).load_method("forward")
    found = method.execute([x.clone(), at])
    torch.testing.assert_close(tuple(found), _Permutes()(x, at))


class _PutsIn(nn.Module):
    def forward(self, x: Tensor, at: Tensor, new: Tensor) -> Tensor:
        return x.index_put_((at,), new) * 2


def test_callers_have_the_new_values_of_an_input() -> None:
    """What runs a file knows which inputs kernels write, but not which a delegate does."""
    x, expected, at, put = torch.ones(4), torch.ones(4), torch.tensor([2, -1]), torch.tensor([3.0, 5.0])
    manager = compiled(_PutsIn(), (torch.ones(4), at, put))
    method = Runtime(threads=1).load_program(manager.buffer, allow_native=True).load_method("forward")
    torch.testing.assert_close(method.execute([x, at, put])[0], _PutsIn()(expected, at, put))
    torch.testing.assert_close(x, expected)


class _Puts(nn.Module):
    def forward(self, x: Tensor, at: Tensor, new: Tensor) -> Tensor:
        return x.index_put((at,), new)


def test_an_update_of_an_input_of_any_size() -> None:
    at, put = torch.tensor([1, -1]), torch.randn(2, 4)
    sizes = ({0: torch.export.Dim("rows", min=2, max=16)}, None, None)
    manager = compiled(_Puts(), (torch.randn(5, 4), at, put), dynamic_shapes=sizes)
    method = Runtime(threads=1).load_program(manager.buffer, allow_native=True).load_method("forward")
    for rows in (3, 16, 2):
        given = torch.randn(rows, 4)
        torch.testing.assert_close(method.execute([given, at, put])[0], _Puts()(given, at, put))


def test_files_tell_what_is_updated() -> None:
    manager = compiled(Attention(), (new(1), torch.arange(1)))
    module = disassemble(read_pte(memoryview(manager.buffer)))
    (lowered,) = (op for op in module.body.block.ops if isinstance(op, LoweredOp))
    plan = next(op for op in module.body.block.ops if isinstance(op, PlanOp))
    call, _ = plan.instructions
    assert isinstance(call, DelegateCallOp)
    pairs = lowered.updated_inputs
    assert len(pairs) == 2
    assert all(call.outs[output] is call.inputs[source] for output, source in pairs.items())
