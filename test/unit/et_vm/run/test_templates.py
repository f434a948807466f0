"""Templates: steps on other tensors than those that they were prepared for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import PrepareContext, Scratch
from et_vm.run.templates import template_of
from et_vm.step import NOTHING, Step
from et_vm.values import Tensor


class Pair(NamedTuple):
    """What a kernel may pass as one argument."""

    first: Any
    second: Any


def tensor(*numbers: float, constant: bool = False) -> Tensor:
    return Tensor.from_numpy(np.array(numbers, np.float32), ScalarType.FLOAT, constant=constant)


def called(*arguments: object) -> None:
    """The function of steps that are looked at."""


def rebound(
    arguments: Sequence[object], *tensors: Tensor, **options: Any
) -> tuple[Sequence[Any], list[Tensor]]:
    """The arguments of a step on other tensors, which hold 10 times as much, and these."""
    scratch = options.pop("scratch", Scratch())
    template = template_of((called, tuple(arguments)), tensors, scratch, **options)
    assert template is not None
    others = [
        Tensor.from_numpy(one.array * 10, one.scalar_type, one.dim_order, constant=one.is_constant)
        for one in tensors
    ]
    function, bound = template.bind(others, np.full(template.scratch, 7, np.uint8))
    assert function is called
    return bound, others


def shares(array: Any, other: Any) -> bool:
    return np.shares_memory(array, other)


class TestArrays:
    def test_of_the_tensors(self):
        a, b = tensor(1, 2), tensor(3, 4)
        bound, others = rebound([b.array, a.array, b.array, 5], a, b)
        assert [bound[0] is others[1].array, bound[1] is others[0].array, bound[2] is bound[0]] == [True] * 3
        assert bound[3] == 5

    @pytest.mark.parametrize("index", [slice(1, 3), slice(None, None, -1), slice(3, 0, -2), (None, 2)])
    def test_views(self, index):
        a = tensor(1, 2, 3, 4)
        (bound,), (other,) = rebound([a.array[index]], a)
        np.testing.assert_array_equal(bound, other.array[index])
        assert shares(bound, other.array)
        assert bound.strides == other.array[index].strides

    def test_of_another_type(self):
        a = tensor(1, 2)
        (bound,), (other,) = rebound([a.array.view(np.int32)], a)
        assert bound.dtype == np.int32
        assert shares(bound, other.array)

    def test_that_are_read_only(self):
        a, b = tensor(1, 2), tensor(3, 4, constant=True)
        view = a.array[:1]
        view.flags.writeable = False
        bound, _ = rebound([view, b.array, b.array[:1]], a, b)
        assert [array.flags.writeable for array in bound] == [False] * 3

    def test_empty(self):
        a = Tensor.from_numpy(np.empty((0, 3), np.float32), ScalarType.FLOAT)
        (bound, reshaped), (other,) = rebound([a.array, a.array.reshape(3, 0)], a)
        assert bound is other.array
        assert reshaped.shape == (3, 0)

    def test_working_memory(self):
        scratch = Scratch()
        a = tensor(1)
        scratch.reserve(256)
        ctx = PrepareContext("test::op", scratch=scratch)
        first, second = ctx.scratch(3, np.int32), ctx.scratch((2, 2), np.uint8)
        bound, _ = rebound([first, second, second[1:]], a, scratch=scratch)
        assert [array.shape for array in bound] == [(3,), (2, 2), (1, 2)]
        assert all((array.view(np.uint8) == 7).all() for array in bound)
        assert shares(bound[1], bound[2])
        assert not shares(bound[0], bound[1])

    def test_of_its_own_are_copied(self):
        a, own = tensor(1), np.array([1, 2], np.int64)
        template = template_of((called, (own, own[1:])), [a], Scratch())
        assert template is not None
        own[:] = 0  # what the first step does must not show in the others
        first, second = (template.bind([a], np.empty(0, np.uint8))[1] for _ in range(2))
        for whole, part in (first, second):
            assert whole.tolist() == [1, 2]
            assert part.tolist() == [2]
            assert shares(whole, part)
        assert not shares(first[0], second[0])

    def test_of_its_own_that_nothing_writes_are_shared(self):
        own = np.array([1, 2])
        own.flags.writeable = False
        bound, _ = rebound([own, own[1:]], tensor(1))
        assert bound[0] is own
        assert shares(bound[1], own)

    def test_derived_from_constants_are_shared(self):
        derived = np.array([1.0, 2.0])
        bound, _ = rebound([derived, derived.reshape(2, 1)], tensor(1), derived=[("key", (derived, 3))])
        assert bound[0] is derived
        assert shares(bound[1], derived)

    def test_that_are_not_known(self):
        strange = np.frombuffer(bytearray(8), np.uint8)
        assert template_of((called, (strange,)), [tensor(1)], Scratch()) is None


class TestObjects:
    def test_tensors(self):
        a = tensor(1)
        (bound,), (other,) = rebound([a], a)
        assert bound is other
        assert template_of((called, (tensor(2),)), [a], Scratch()) is None

    def test_that_never_change_are_the_same(self):
        kept = (
            "text",
            1.5,
            None,
            np.float32(2),
            np.dtype(np.int8),
            slice(1, 2),
            ...,
            np.add,
            len,
            ScalarType.INT,
        )
        bound, _ = rebound([kept, np.add.reduce, called], tensor(1))
        assert bound[0] is kept
        assert bound[1:] == (np.add.reduce, called)

    def test_containers(self):
        a = tensor(1, 2)
        array = a.array
        (bound,), (other,) = rebound([([array], {"k": array}, Pair(array, 3))], a)
        assert type(bound[2]) is Pair
        assert [bound[0][0] is other.array, bound[1]["k"] is other.array, bound[2].first is other.array] == [
            True
        ] * 3

    def test_steps_of_several_calls(self):
        a, b = tensor(1, 2), tensor(0, 0)
        steps: list[Step] = [(np.add, (a.array, a.array, b.array)), (b.array.fill, (3.0,))]
        ((add, fill),), (one, two) = rebound([tuple(steps)], a, b)
        add[0](*add[1])
        assert two.array.tolist() == [20, 40]
        fill[0](*fill[1])
        assert two.array.tolist() == [3, 3]
        assert b.array.tolist() == [0, 0]
        assert one.array.tolist() == [10, 20]

    def test_partial_functions(self):
        a, b = tensor(1, 2), tensor(0, 0)
        (bound,), (_, out) = rebound([partial(np.maximum, a.array, 15, out=b.array)], a, b)
        bound()
        assert out.array.tolist() == [15, 20]

    def test_closures(self):
        a = tensor(1, 2)

        def make(array: Any, factor: float):
            def inner(add: int = 1, *, times: int = 2) -> float:
                return float(array.sum()) * factor * times + add

            return inner

        (bound,), _ = rebound([make(a.array, 2.0)], a)
        assert bound() == 121
        assert make(a.array, 2.0)() == 13

    def test_closures_over_numbers_are_the_same(self):
        number = 3
        function = lambda: number  # noqa: E731
        (bound,), _ = rebound([function], tensor(1))
        assert bound is function

    def test_objects_of_kernels(self):
        kind = type(
            "Blocks", (), {"__module__": "et_vm.kernels.portable.blocks", "__slots__": ("number", "part")}
        )
        a, blocks = tensor(1, 2), kind()
        blocks.number, blocks.part = 3, a.array[:1]
        (bound,), (other,) = rebound([blocks], a)
        assert type(bound) is kind
        assert bound.number == 3
        assert shares(bound.part, other.array)
        assert shares(blocks.part, a.array)

    def test_with_a_state(self):
        for strange in (PrepareContext("test::op"), np.random.default_rng(), iter([])):
            assert template_of((called, (strange,)), [tensor(1)], Scratch()) is None

    def test_that_hold_themselves(self):
        items: list[object] = []
        items.append(items)
        assert template_of((called, (items,)), [tensor(1)], Scratch()) is None

    def test_nothing_to_do(self):
        template = template_of(NOTHING, [tensor(1)], Scratch())
        assert template is not None
        assert template.bind([tensor(2)], np.empty(0, np.uint8)) is NOTHING
