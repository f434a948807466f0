"""Blocks, broadcasting, conversions and shared memory of the elementwise builder."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from et_schema.errors import Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable import elementwise as module
from et_vm.kernels.portable.elementwise import apply, compute_blocks, elementwise
from et_vm.kernels.portable.steps import call
from et_vm.kernels.registry import PrepareContext, Scratch
from et_vm.step import NOTHING, Step
from et_vm.values import Array, Tensor

F32 = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 16)


def _run(step: Step) -> None:
    fn, args = step
    fn(*args)


def _values(*shape: int, dtype: object = np.float32) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def _twice_and_add(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    """2 * a + b, in two calls and reading b last."""
    two = np.array(2, out.dtype)
    return [call(np.multiply, inputs[0], two, out), call(np.add, out, inputs[1], out)]


SHAPES = [(), (1,), (5,), (40,), (3, 7), (4, 1, 6), (2, 3, 4, 5), (1, 1, 33), (70, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_and_broadcasting(shape: tuple[int, ...]) -> None:
    for keep in itertools.product([False, True], repeat=min(len(shape), 3)):
        other = tuple(1 if at < len(keep) and keep[at] else size for at, size in enumerate(shape))
        a, b, out = _values(*shape), _values(*other), np.empty(shape, np.float32)
        _run(compute_blocks(PrepareContext("x"), (a, b), out, _twice_and_add, compute=(F32, F32), result=F32))
        np.testing.assert_allclose(out, 2 * a + b, rtol=1e-6)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_layouts(order: tuple[int, ...]) -> None:
    shape = (4, 5, 6)
    a, b = _values(*shape), _values(5, 1)
    out = np.empty([shape[axis] for axis in order], np.float32).transpose(np.argsort(order))
    assert out.shape == shape
    _run(
        compute_blocks(
            PrepareContext("x"), (a, b), out, _twice_and_add, compute=(F32, F32), result=F32, dim_order=order
        )
    )
    np.testing.assert_allclose(out, 2 * a + b, rtol=1e-6)


def test_conversions() -> None:
    a, b = np.arange(-20, 20, dtype=np.int8), _values(40, dtype=np.float64)
    out = np.empty(40, np.float16)
    _run(compute_blocks(PrepareContext("x"), (a, b), out, _twice_and_add, compute=(F32, F32), result=F32))
    np.testing.assert_allclose(out, 2.0 * a + b, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("shape", [(5,), (40,), (3, 20)])
@pytest.mark.parametrize("over", [0, 1])
def test_output_over_an_input(shape: tuple[int, ...], over: int) -> None:
    operands = [_values(*shape), _values(*shape)]
    expected = 2 * operands[0] + operands[1]
    out = operands[over]
    _run(compute_blocks(PrepareContext("x"), operands, out, _twice_and_add, compute=(F32, F32), result=F32))
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_output_over_part_of_an_input() -> None:
    """No block may overwrite what a later one reads."""
    memory = _values(100)
    a, b, out = memory[:90], memory[10:100], memory[5:95]
    expected = 2 * a + b
    _run(compute_blocks(PrepareContext("x"), (a, b), out, _twice_and_add, compute=(F32, F32), result=F32))
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_output_over_a_broadcast_input() -> None:
    memory = _values(4, 30)
    line = memory[0]
    expected = 2 * memory + line
    _run(
        compute_blocks(
            PrepareContext("x"), (memory, line), memory, _twice_and_add, compute=(F32, F32), result=F32
        )
    )
    np.testing.assert_allclose(memory, expected, rtol=1e-6)


def test_one_call_is_bound_directly() -> None:
    a, b, out = (Tensor.from_numpy(_values(100), ScalarType.FLOAT) for _ in range(3))
    fn, args = elementwise(PrepareContext("x"), (a, b), out, apply(np.add), compute=ScalarType.FLOAT)
    assert fn is np.add
    assert args == (a.array, b.array, out.array) or [*map(id, args)] == [
        *map(id, (a.array, b.array, out.array))
    ]


def test_temporaries_are_one_block() -> None:
    scratch = Scratch()
    a, out = _values(1000), np.empty(1000, np.float32)

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        return [call(np.negative, inputs[0], temporaries[0]), call(np.negative, temporaries[0], result)]

    ctx = PrepareContext("x", scratch=scratch)
    _run(compute_blocks(ctx, (a,), out, body, compute=(F32,), result=F32, temporaries=(F32,)))
    np.testing.assert_array_equal(out, a)
    assert scratch.used <= 16 * 4 + 64


def test_empty_output_is_nothing() -> None:
    empty = np.empty((0, 3), np.float32)
    step = compute_blocks(
        PrepareContext("x"), (empty,), empty, apply(np.negative), compute=(F32,), result=F32
    )
    assert step is NOTHING


def test_constants_are_converted_once() -> None:
    source = Tensor.from_numpy(np.arange(40, dtype=np.int32), ScalarType.INT, constant=True)
    out = Tensor.from_numpy(_values(40), ScalarType.FLOAT)
    memo: dict[object, object] = {}
    for _ in range(2):
        ctx = PrepareContext("x", memo=memo)
        _run(elementwise(ctx, (source,), out, apply(np.sqrt), compute=ScalarType.FLOAT))
        np.testing.assert_allclose(out.array, np.sqrt(np.arange(40)), rtol=1e-6)
    assert len(memo) == 1


def test_the_result_must_cast_to_the_output() -> None:
    source = Tensor.from_numpy(_values(4), ScalarType.FLOAT)
    out = Tensor.from_numpy(np.zeros(4, np.int64), ScalarType.LONG)
    with pytest.raises(Trap, match="'out': expected a type that float32 casts to, got int64"):
        elementwise(PrepareContext("x"), (source,), out, apply(np.negative), compute=ScalarType.FLOAT)
