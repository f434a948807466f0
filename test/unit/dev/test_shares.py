"""Tests chosen for a time budget: near ones whole, of the others each in its turn."""

from __future__ import annotations

import pytest

from dev.shares import SHORT, Layer, choose

DURATIONS = {"near.py::test": 1.0, "far.py::test": 2.0, "other.py::test": 4.0}
TESTS = {f"{name}[{case}]": f"{name}[{case}]" for name in DURATIONS for case in range(100)}


def chosen(seconds: float, turn: int = 0, distances: dict[str, int] | None = None) -> dict[str, Layer]:
    found = choose(
        TESTS, {"near.py": 1, "far.py": 4} if distances is None else distances, DURATIONS, seconds, turn
    )
    return {layer.name: layer for layer in found}


def test_all_that_there_are() -> None:
    layers = chosen(2000)
    assert [(name, len(layer.chosen), layer.one_in) for name, layer in layers.items()] == [
        ("distance 1", 100, 1),
        ("distance 4", 100, 1),
        ("others", 100, 1),
    ]


def test_the_nearest_are_whole() -> None:
    layers = chosen(400)
    assert len(layers["distance 1"].chosen) == 100
    # 240 of 400 seconds for what is near: 140 for 200 seconds of tests, and no turn has more than one in two.
    assert layers["distance 4"].one_in == 2
    assert 20 < len(layers["distance 4"].chosen) < 80
    assert layers["others"].count == 200 - len(layers["distance 4"].chosen)


def test_nothing_is_chosen_twice() -> None:
    names = [name for layer in chosen(400).values() for name in layer.chosen]
    assert len(names) == len(set(names))


def test_turns_in_a_row_are_all_tests() -> None:
    layers = [chosen(100, turn, {}) for turn in range(7)]
    assert layers[0]["others"].one_in == 7
    names = [name for each in layers for name in each["others"].chosen]
    assert sorted(names) == sorted(TESTS)


@pytest.mark.parametrize("seconds", [50, 100, 200, 400])
def test_the_time_is_kept(seconds: float) -> None:
    for turn in range(20):
        taken = sum(
            DURATIONS[name.partition("[")[0]]
            for each in chosen(seconds, turn).values()
            for name in each.chosen
        )
        assert taken < 1.6 * seconds


def test_cases_are_chosen_on_all_their_routes() -> None:
    routes = {f"test[{case}-{route}]": f"test[{case}" for case in range(100) for route in "abc"}
    for turn in range(5):
        [layer] = choose(routes, {}, {"test": 1.0}, 60.0, turn)
        assert layer.one_in == 5
        assert {routes[name] for name in layer.chosen} == {name[: name.index("-")] for name in layer.chosen}
        assert len(layer.chosen) == 3 * len({routes[name] for name in layer.chosen})


def test_what_is_far_has_its_turn() -> None:
    """A layer that does not fit is chosen from again, and by another digest."""
    names = {name for turn in range(60) for each in chosen(200, turn).values() for name in each.chosen}
    assert names == set(TESTS)


def test_durations_that_are_not_known() -> None:
    new = {f"new.py::test[{case}]": str(case) for case in range(60)}
    [layer] = choose(new, {}, {"old.py::test": 3.0}, 1.0, 0)
    assert (layer.seconds, layer.one_in) == (pytest.approx(60 * SHORT), 3)
