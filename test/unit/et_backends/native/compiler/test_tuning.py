"""Tuning with times that are told, not taken: choices, the cache, and what cannot be measured."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import numpy as np
import pytest
import torch
from native_modules import SETS, compiled, run
from support.accuracy import assert_accurate, truth_of
from torch import nn

from et_backends.codegen.passes.choose_algorithms import ALGORITHMS
from et_backends.native.compiler import NativePartitioner, tuning
from et_backends.native.runtime.timing import kernel_times
from et_ir.analysis.choices import Choice, ExplainingContext, explained
from et_ir.delegation.backends_by_name import make_partitioner

X = torch.randn(1, 16, 6, 6, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "executorch-ir" / "native-tuning.json"


class Clock:
    """Tells the times of an algorithm for all kernels; counts how often it is asked."""

    def __init__(self, **seconds: float):
        self.seconds = seconds
        self.asked = 0

    def __call__(self, programs: Sequence[bytes]) -> list[dict[int, float]]:
        self.asked += 1
        assert len(programs) == len(ALGORITHMS)
        return [dict.fromkeys(range(100), self.seconds[name]) for name in ALGORITHMS]


def _module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)).eval()


def _tuned(clock: Clock | None, module: nn.Module | None = None) -> tuple[bytes, list[Choice]]:
    context = ExplainingContext()
    with explained(context):
        if clock is None:
            file = compiled(module or _module(), (X,), SETS[0], tune=True)
        else:
            with patch.object(tuning, "time_kernels", clock):
                file = compiled(module or _module(), (X,), SETS[0], tune=True)
    return file, context.choices


@pytest.mark.parametrize("fastest", ALGORITHMS)
def test_the_fastest_is_taken(fastest: str) -> None:
    """Whatever the cost model thinks of it: results have the bits of the algorithm's."""
    clock = Clock(**{name: 1e-3 if name == fastest else 2e-3 for name in ALGORITHMS})
    file, choices = _tuned(clock)
    asked = compiled(_module(), (X,), SETS[0], algorithm=fastest)
    np.testing.assert_array_equal(run(file, (X,)), run(asked, (X,)))
    (choice,) = choices
    assert choice.measured
    assert choice.chosen == fastest
    assert {one.name: one.seconds for one in choice.candidates} == clock.seconds


def test_a_gain_within_noise_is_not_worth_a_larger_error() -> None:
    _, (choice,) = _tuned(Clock(direct=1.0, winograd_2=0.99, winograd_4=0.98))
    assert choice.chosen == "direct"


def test_times_are_kept(cache: Path) -> None:
    clock = Clock(direct=3.0, winograd_2=1.0, winograd_4=2.0)
    first, _ = _tuned(clock)
    again, (choice,) = _tuned(clock)
    assert clock.asked == 1
    assert again == first
    assert choice.chosen == "winograd_2"
    assert list(json.loads(cache.read_text()).values()) == [
        {"convolution": 3.0, "winograd_2": 1.0, "winograd_4": 2.0}
    ]
    assert [path.name for path in cache.parent.iterdir()] == [cache.name]


def test_other_weights_are_the_same_kernel_and_other_sizes_are_not(cache: Path) -> None:
    clock = Clock(direct=3.0, winograd_2=1.0, winograd_4=2.0)
    _tuned(clock)
    torch.manual_seed(1)
    _tuned(clock, nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)).eval())
    assert clock.asked == 1
    _tuned(clock, nn.Conv2d(16, 32, 3, padding=1))
    assert clock.asked == 2
    assert len(json.loads(cache.read_text())) == 2


@pytest.mark.parametrize("place", ["_compiler", "_processor"])
def test_other_compilers_and_processors_have_other_times(place: str) -> None:
    clock = Clock(direct=3.0, winograd_2=1.0, winograd_4=2.0)
    _tuned(clock)
    try:
        with patch.object(tuning, place, lambda: "another"):
            tuning._place.cache_clear()  # pyright: ignore[reportPrivateUsage]
            _tuned(clock)
    finally:
        tuning._place.cache_clear()  # pyright: ignore[reportPrivateUsage]
    assert clock.asked == 2


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"a": 1}',
        b'{"a": {"convolution": 1.0}}',
        b'{"a": {"convolution": NaN, "winograd_2": 1.0, "winograd_4": 1.0}}',
        b'{"a": {"convolution": "1", "winograd_2": 1.0, "winograd_4": 1.0}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_cache_is_ignored(damaged: bytes, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_bytes(damaged)
    clock = Clock(direct=3.0, winograd_2=1.0, winograd_4=2.0)
    _, (choice,) = _tuned(clock)
    assert clock.asked == 1
    assert choice.chosen == "winograd_2"
    assert f"the tuning cache {cache} is ignored: " in caplog.text
    caplog.clear()
    _tuned(clock)
    assert clock.asked == 1
    assert "native backend" not in caplog.text


def test_a_cache_that_cannot_be_written(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.parent.parent.mkdir()
    cache.parent.write_text("a file where the folder would be")
    _, (choice,) = _tuned(Clock(direct=3.0, winograd_2=1.0, winograd_4=2.0))
    assert choice.chosen == "winograd_2"
    assert f"the tuning cache {cache} is not written: " in caplog.text


def test_estimates_remain_where_times_cannot_be_taken(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        patch.object(sys, "executable", "/nonexistent/python"),
        caplog.at_level(logging.WARNING),
    ):
        file, (choice,) = _tuned(None)
    assert not choice.measured
    np.testing.assert_array_equal(run(file, (X,)), run(compiled(_module(), (X,), SETS[0]), (X,)))
    assert "no tuning, algorithms are chosen by the cost model" in caplog.text
    assert not cache.exists()


def test_nothing_is_measured_without_a_choice() -> None:
    clock = Clock(direct=3.0, winograd_2=1.0, winograd_4=2.0)
    for module in (nn.Conv2d(16, 16, 3, stride=2), nn.Conv2d(16, 8, 3), nn.ReLU()):
        _tuned(clock, module)
    assert clock.asked == 0


def test_times_of_this_machine(cache: Path) -> None:
    """The process of the runtime: any choice is right, and computes what torch does."""
    module = nn.Sequential(_module(), nn.Conv2d(16, 16, 3, padding=1))
    file, choices = _tuned(None, module)
    assert [choice.measured for choice in choices] == [True, True]
    assert all(one.seconds is not None and one.seconds > 0 for choice in choices for one in choice.candidates)
    with torch.no_grad():
        assert_accurate(run(file, (X,)), truth_of(module, X))
    assert len(json.loads(cache.read_text())) == 2


def test_each_kernel_has_a_time() -> None:
    files = [compiled(_module(), (X,), SETS[0], algorithm=name) for name in ALGORITHMS]
    start = perf_counter()
    times = kernel_times(files)
    elapsed = perf_counter() - start
    assert len(times) == len(files)
    for one in times:
        assert sorted(one) == list(range(len(one)))
        assert all(0 < seconds < elapsed for seconds in one.values())


def test_options() -> None:
    assert isinstance(make_partitioner("native:tune=1"), NativePartitioner)
    with pytest.raises(Exception, match="tune=yes: expected 0 or 1"):
        make_partitioner("native:tune=yes")
    with pytest.raises(ValueError, match="tune has nothing to choose beside algorithm=direct"):
        NativePartitioner(tune=True, algorithm="direct")
