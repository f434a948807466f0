"""The choice of tokens: likeliest, and at random with the probabilities of the logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from et_schema.errors import InputError
from et_vm.llm import Sampler

LOGITS = np.log(np.array([0.1, 0.4, 0.2, 0.3], np.float32))


def frequencies(allowed: Any = None, **options: Any) -> np.ndarray:
    sampler = Sampler(seed=1, **options)
    found = [sampler.choose(LOGITS, allowed) for _ in range(4000)]
    return np.bincount(found, minlength=4) / len(found)


def test_greedy() -> None:
    assert Sampler().choose(LOGITS) == 1
    assert Sampler().choose(np.zeros(4, np.float32)) == 0
    assert Sampler().choose(LOGITS, np.array([True, False, True, True])) == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"temperature": 1.0}, [0.1, 0.4, 0.2, 0.3]),
        ({"temperature": 0.5}, np.array([0.01, 0.16, 0.04, 0.09]) / 0.3),
        ({"temperature": 1.0, "top_k": 2}, [0, 4 / 7, 0, 3 / 7]),
        ({"temperature": 1.0, "top_p": 0.65}, [0, 4 / 7, 0, 3 / 7]),
        ({"temperature": 1.0, "top_p": 0.75}, [0, 4 / 9, 2 / 9, 3 / 9]),
        ({"temperature": 1.0, "allowed": np.array([True, False, True, False])}, [1 / 3, 0, 2 / 3, 0]),
    ],
)
def test_probabilities(options: dict[str, Any], expected: Any) -> None:
    np.testing.assert_allclose(frequencies(**options), expected, atol=0.03)


@pytest.mark.parametrize("kind", ["peaked", "flat", "equal"])
@pytest.mark.parametrize(
    "options",
    [{}, {"top_k": 3}, {"top_k": 700}, {"top_p": 0.1}, {"top_p": 0.9501}, {"top_k": 40, "top_p": 0.8}],
)
def test_choices_of_a_large_vocabulary(kind: str, options: dict[str, Any]) -> None:
    """As by sorting the whole of it."""
    random = np.random.default_rng(3)
    scale = {"peaked": 3, "flat": 0.01, "equal": 0}[kind]
    sampler, drawn = Sampler(0.8, seed=2, **options), np.random.default_rng(2)
    for _ in range(20):
        logits = (scale * random.standard_normal(3000)).astype(np.float32)
        weights = np.exp(logits.astype(np.float64) / 0.8)
        order = np.argsort(-weights, kind="stable")[: options.get("top_k")]
        kept = weights[order] / weights[order].sum()
        kept = kept[: np.searchsorted(np.cumsum(kept), options.get("top_p", 1)) + 1]
        place = np.searchsorted(np.cumsum(kept / kept.sum()), drawn.random(), side="right")
        assert sampler.choose(logits) == order[place]


@pytest.mark.parametrize("options", [{}, {"top_k": 3}, {"top_p": 0.5}])
def test_infinite_logits(options: dict[str, Any]) -> None:
    """Only tokens whose logits are infinite are possible, in vocabularies of which all or a part are sorted."""
    sampler = Sampler(1.0, seed=1, **options)
    for count in (10, 3000):
        logits = np.zeros(count, np.float32)
        logits[7] = np.inf
        assert {sampler.choose(logits) for _ in range(20)} == {7}


def test_lowest_temperature() -> None:
    """Differences of logits overflow, and the likeliest token is left."""
    with np.errstate(all="raise", under="ignore"):
        assert Sampler(1e-310, seed=1).choose(LOGITS) == 1


def test_seeds() -> None:
    one, other = (Sampler(1.0, seed=5) for _ in range(2))
    ids = [one.choose(LOGITS) for _ in range(50)]
    assert ids == [other.choose(LOGITS) for _ in range(50)]
    third = Sampler(1.0, seed=6)
    assert ids != [third.choose(LOGITS) for _ in range(50)]


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1},
        {"temperature": float("nan")},
        {"top_p": 0},
        {"top_p": 1.5},
        {"top_k": -1},
        {"top_k": 1.5},
        {"seed": -1},
        {"seed": 0.5},
    ],
)
def test_refusals(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected"):
        Sampler(**options)


def test_nothing_to_choose() -> None:
    for logits, allowed in ((np.full(4, np.nan, np.float32), None), (LOGITS, np.zeros(4, np.bool_))):
        with pytest.raises(InputError, match="no token is possible"):
            Sampler().choose(logits, allowed)
