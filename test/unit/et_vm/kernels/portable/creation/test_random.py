"""Random kernels draw from the distributions that they say, from a fixed seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.creation import distributions, random
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

COUNT = 20000
LIKE = Tensor.from_numpy(np.zeros(COUNT, np.float32), ScalarType.FLOAT)


def _filled(value: float) -> Tensor:
    return Tensor.from_numpy(np.full(COUNT, value, np.float32), ScalarType.FLOAT)


def _draw(prepare: Callable[..., Step], *arguments: object, kind: ScalarType = ScalarType.FLOAT) -> Array:
    out = Tensor.from_numpy(np.zeros(COUNT), kind)
    function, bound = prepare(PrepareContext("random"), *arguments, out)
    random.seed(1)
    function(*bound)
    first = out.array.copy()
    random.seed(1)
    function(*bound)
    np.testing.assert_array_equal(first, out.array)
    return first


@pytest.mark.parametrize(
    ("prepare", "arguments", "mean", "deviation"),
    [
        (random.rand_out, ([COUNT],), 0.5, 12**-0.5),
        (random.randn_out, ([COUNT],), 0.0, 1.0),
        (random.randint_low_out, (2, 8, [COUNT]), 4.5, (35 / 12) ** 0.5),
        (distributions.normal_out, (LIKE, 3.0, 2.0, None), 3.0, 2.0),
        (distributions.uniform_out, (LIKE, -1.0, 3.0, None), 1.0, 4 / 12**0.5),
        (distributions.exponential_out, (LIKE, 4.0, None), 0.25, 0.25),
        (distributions.geometric_out, (LIKE, 0.25, None), 4.0, 12**0.5),
        (distributions.log_normal_out, (LIKE, 0.0, 0.25, None), 1.0317, 0.2620),
        (distributions.bernoulli_float_out, (LIKE, 0.3, None), 0.3, 0.21**0.5),
        (distributions.bernoulli_out, (_filled(0.3), None), 0.3, 0.21**0.5),
        (distributions.bernoulli_tensor_out, (LIKE, _filled(0.3), None), 0.3, 0.21**0.5),
    ],
)
def test_mean_and_deviation(
    prepare: Callable[..., Step], arguments: tuple[object, ...], mean: float, deviation: float
) -> None:
    drawn = _draw(prepare, *arguments).astype(np.float64)
    assert abs(drawn.mean() - mean) < 5 * deviation / COUNT**0.5
    assert drawn.std() == pytest.approx(deviation, rel=0.05)


class _Extremes:
    """The least and the largest number that are drawn from [0, 1)."""

    def random(self, shape: tuple[int, ...]) -> Array:
        return np.resize([0.0, np.nextafter(1.0, 0.0)], shape)


@pytest.mark.parametrize("chance", [0.0, 1.0])
@pytest.mark.parametrize(
    ("prepare", "arguments"),
    [
        (distributions.bernoulli_float_out, lambda chance: (LIKE, chance)),
        (distributions.bernoulli_out, lambda chance: (_filled(chance),)),
        (distributions.bernoulli_tensor_out, lambda chance: (LIKE, _filled(chance))),
    ],
)
def test_what_is_certain(
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[..., Step],
    arguments: Callable[[float], tuple[object, ...]],
    chance: float,
) -> None:
    out = _filled(0.5)
    function, bound = prepare(PrepareContext("x"), *arguments(chance), None, out)
    monkeypatch.setattr(random._Source, "generator", _Extremes())
    function(*bound)
    np.testing.assert_array_equal(out.array, chance)


def test_sixteen_bit_numbers_stay_below_one() -> None:
    assert _draw(random.rand_out, [COUNT], kind=ScalarType.BFLOAT16).astype(np.float32).max() < 1


def test_a_permutation_has_every_number_once() -> None:
    drawn = _draw(random.randperm_out, COUNT, kind=ScalarType.LONG)
    assert not np.array_equal(drawn, np.arange(COUNT))
    np.testing.assert_array_equal(np.sort(drawn), np.arange(COUNT))


@pytest.mark.parametrize("replacement", [True, False])
def test_weights_say_how_often_an_index_is_chosen(replacement: bool) -> None:
    rows = 5000
    weights = Tensor.from_numpy(np.tile([0.0, 1.0, 3.0, 0.0], (rows, 1)), ScalarType.FLOAT)
    out = Tensor.from_numpy(np.zeros((rows, 1)), ScalarType.LONG)
    function, bound = distributions.multinomial_out(PrepareContext("m"), weights, 1, replacement, None, out)
    random.seed(2)
    function(*bound)
    shares = np.bincount(out.array.reshape(-1), minlength=4) / rows
    np.testing.assert_allclose(shares, [0, 0.25, 0.75, 0], atol=0.03)
