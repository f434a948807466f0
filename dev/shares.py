"""Tests that fit into a time budget: the nearest to a change, and a share of the others.

Up to `NEAR` of the time goes to the tests nearest to the change, a distance at a time. The rest of it goes to one in N
of the other tests, where N is what fits; the commit chooses which one, so that other commits run others. Times are
those of `test/durations.json`, not of the machine: every machine runs the same tests for a commit.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

__all__ = ["NEAR", "SHORT", "STORE", "Layer", "choose", "read_durations"]

STORE: Final = Path(__file__).parents[1] / "test" / "durations.json"
NEAR: Final = 0.6
SHORT: Final = 0.05
"""Seconds of a case of a test that the table does not have, as it is new or takes less."""


@dataclass(frozen=True)
class Layer:
    """Tests of one distance, or the others: how many there are and how many are run, and their seconds."""

    name: str
    count: int
    seconds: float
    one_in: int
    chosen: Collection[str]

    def __str__(self) -> str:
        share = "none" if not self.one_in else "all" if self.one_in == 1 else f"one in {self.one_in}"
        return f"{self.name}: {share} of {self.count:,} tests of {self.seconds:,.0f} s"


def read_durations(path: Path = STORE) -> dict[str, float]:
    """Mean seconds of a case of each test; none if there is no table."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def choose(
    tests: Mapping[str, str],
    distances: Mapping[str, int],
    durations: Mapping[str, float],
    seconds: float,
    turn: int,
) -> list[Layer]:
    """The tests to run in some seconds of processor time, in layers.

    `tests` are node ids, each with the name of its case: those of one name are chosen together. `distances` are by
    file, `durations` by test, and `turn` is any number: where `Layer.one_in` is N, N turns in a row have all tests of
    the layer.
    """

    def time(chosen: Collection[str]) -> float:
        return sum(durations.get(test.partition("[")[0], SHORT) for test in chosen)

    by_distance: defaultdict[int, list[str]] = defaultdict(list)
    others: list[str] = []
    for test in tests:
        distance = distances.get(_file(test))
        (others if distance is None else by_distance[distance]).append(test)
    layers: list[Layer] = []
    spent = 0.0
    for distance, near in sorted(by_distance.items()):
        if spent + time(near) <= NEAR * seconds:
            layers.append(Layer(f"distance {distance}", len(near), time(near), 1, near))
            spent += time(near)
            continue
        # What does not fit has the rest of this time, and its other tests their chance below.
        left = NEAR * seconds - spent
        count = math.ceil(time(near) / left) if left > 0 else 0
        chosen = [test for test in near if count and crc32(tests[test].encode()) % count == turn % count]
        layers.append(Layer(f"distance {distance}", len(near), time(near), count, chosen))
        spent += time(chosen)
        others += set(near).difference(chosen)
        others += [test for further, rest in by_distance.items() if further > distance for test in rest]
        break
    count = max(1, math.ceil(time(others) / max(seconds - spent, 1.0)))
    # Another digest than above, or the others would never be chosen here.
    chosen = [test for test in others if crc32(tests[test].encode()[::-1]) % count == turn % count]
    layers.append(Layer("others", len(others), time(others), count, chosen))
    return layers


def _file(test: str) -> str:
    return test.partition("::")[0]
