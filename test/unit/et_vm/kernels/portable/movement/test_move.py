"""Copies between layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from et_vm.kernels.portable.movement.move import borders, contiguous, move, reshape_moves
from et_vm.kernels.portable.steps import chain, run
from et_vm.kernels.registry import PrepareContext
from et_vm.step import NOTHING


def _values(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 150, 130), (130, 3, 300)])
def test_permutations(order: tuple[int, ...], shape: tuple[int, ...]) -> None:
    source = _values(*shape).transpose(order)
    target = np.empty(source.shape, np.float32)
    fn, args = move(PrepareContext("x"), source, target)
    fn(*args)
    np.testing.assert_array_equal(target, source)


def test_one_view_is_not_copied() -> None:
    memory = _values(3, 4)
    assert move(PrepareContext("x"), memory, memory[:]) is NOTHING
    assert move(PrepareContext("x"), memory[:0], memory[:0]) is NOTHING
    assert move(PrepareContext("x"), memory[:2], memory[1:]) is not NOTHING


def test_overlapping_memory() -> None:
    memory = _values(200, 200)
    expected = memory.T.copy()
    fn, args = move(PrepareContext("x"), memory.T, memory)
    fn(*args)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (np.array([-1.5, 300.0, 2.9]), np.empty(3, np.uint8), [255, 44, 2]),
        (np.array([2.0**33 + 5, -(2.0**33) - 3]), np.empty(2, np.uint8), [5, 253]),
        (np.array([0.0, 0.3, np.nan]), np.empty(3, np.bool_), [False, True, True]),
        (np.array([1 + 2j, 3 - 4j]), np.empty(2, np.float32), [1, 3]),
        (np.array([True, False]), np.empty(2, np.int64), [1, 0]),
    ],
)
def test_conversions(source: np.ndarray, target: np.ndarray, expected: list[object]) -> None:
    with np.errstate(all="ignore"):
        fn, args = move(PrepareContext("x"), source, target)
        fn(*args)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("turned", list(itertools.product([False, True], repeat=2)))
def test_reshapes(turned: tuple[bool, bool]) -> None:
    source = _values(6, 4).T if turned[0] else _values(4, 6)
    target = np.empty((8, 3), np.float32).T if turned[1] else np.empty((3, 8), np.float32)
    run([chain(reshape_moves(PrepareContext("x"), source, target))])
    np.testing.assert_array_equal(target, source.reshape(3, 8))


def test_contiguous() -> None:
    memory = _values(3, 4)
    calls, same = contiguous(PrepareContext("x"), memory)
    assert (calls, same is memory) == ([], True)
    calls, packed = contiguous(PrepareContext("x"), memory.T)
    run(calls)
    np.testing.assert_array_equal(packed, memory.T)


def test_borders_cover_everything_outside() -> None:
    array = np.zeros((4, 5, 6))
    inside = [slice(1, 3), slice(0, 4), slice(2, 6)]
    for border in borders(array, inside):
        np.add(border, 1, border)
    expected = np.ones((4, 5, 6))
    expected[tuple(inside)] = 0
    np.testing.assert_array_equal(array, expected)
