"""List schedules against bounds and the rules of chains, and the partial order that memory is placed by."""

from __future__ import annotations

from random import Random

import pytest

from et_ir.analysis.work_span import work_and_span
from et_ir.planning.list_schedule import list_schedule
from et_ir.planning.partial_order import ChainBuffer, order_problems, place_by_order


def random_tasks(seed: int) -> tuple[list[float], list[list[int]]]:
    random = Random(seed)
    count = random.randrange(1, 40)
    costs = [random.choice([1.0, 2.0, 5.0]) for _ in range(count)]
    waits = [
        sorted(random.sample(range(task), min(task, random.choice([0, 1, 1, 2])))) for task in range(count)
    ]
    return costs, waits


@pytest.mark.parametrize("handover", [0.0, 1.0, 50.0])
def test_schedules_are_orders_within_bounds(handover: float) -> None:
    for seed in range(200):
        costs, waits = random_tasks(seed)
        processors = 1 + seed % 4
        schedule = list_schedule(costs, waits, processors, handover)
        order = [task for chain in schedule.chains for task in chain]
        assert sorted(order) == list(range(len(costs)))
        place = {task: at for at, task in enumerate(order)}
        assert all(place[before] < place[task] for task, befores in enumerate(waits) for before in befores)
        of = {task: number for number, chain in enumerate(schedule.chains) for task in chain}
        bounds = work_and_span(costs, waits)
        assert schedule.makespan >= bounds.span - 1e-9
        assert schedule.makespan >= bounds.work / processors - 1e-9
        if processors == 1:
            assert schedule.makespan == pytest.approx(bounds.work)
            assert len(schedule.chains) == 1
        if not handover:
            # Graham's bound holds for each schedule without idle processors that have a task.
            assert schedule.makespan <= bounds.work / processors + bounds.span + 1e-9
        # The chains can run: none waits for one that waits for it.
        for number, chain in enumerate(schedule.chains):
            assert all(of[before] <= number for task in chain for before in waits[task])


def test_what_costs_too_much_to_hand_over_stays_together() -> None:
    assert len(list_schedule([1.0, 1.0, 1.0], [[], [], [0, 1]], 2, 50.0).chains) == 1
    assert list_schedule([9.0, 9.0, 1.0], [[], [], [0, 1]], 2, 1.0).chains == [[0], [1], [2]]


def test_work_and_span() -> None:
    both = work_and_span([2.0, 3.0, 1.0], [[], [], [0, 1]])
    assert (both.work, both.span, both.parallelism) == (6.0, 4.0, 1.5)
    assert str(both) == "work 6000.000 ms, critical path 4000.000 ms, parallelism 1.50"
    assert work_and_span([], []).parallelism == 1.0


def test_memory_is_shared_by_what_an_order_separates() -> None:
    before = [0, 1, 1, 7]  # a diamond: chain 0, then 1 and 2, then 3
    early = ChainBuffer(64, 16, {0: (1, 1)})
    left, right = ChainBuffer(64, 16, {1: (2, 4)}), ChainBuffer(64, 16, {2: (5, 6)})
    again = ChainBuffer(64, 16, {1: (5, 5), 3: (7, 7)})
    layout = place_by_order([early, left, right], before)
    assert layout.size == 128
    assert layout.offsets == (0, 0, 64)
    assert not order_problems([early, left, right], layout.offsets, before)
    assert order_problems([left, right], (0, 32), before) == [(0, 1)]
    # In one chain, times decide; its later value may lie where the earlier one was.
    assert place_by_order([left, again], before).size == 64
    assert order_problems([left, ChainBuffer(64, 16, {1: (4, 5)})], (0, 0), before) == [(0, 1)]


def test_random_layouts_by_order() -> None:
    for seed in range(200):
        random = Random(seed)
        count = random.randrange(1, 6)
        before: list[int] = []
        for chain in range(count):
            waits = [one for one in range(chain) if random.random() < 0.4]
            ended = 0
            for one in waits:
                ended |= before[one] | 1 << one
            before.append(ended)
        buffers: list[ChainBuffer] = []
        for _ in range(random.randrange(1, 15)):
            chains = random.sample(range(count), random.randrange(1, count + 1))
            starts = {chain: 10 * chain + random.randrange(8) for chain in chains}
            times = {chain: (start, start + random.randrange(3)) for chain, start in starts.items()}
            buffers.append(ChainBuffer(random.randrange(0, 100), 16, times))
        layout = place_by_order(buffers, before)
        assert not order_problems(buffers, layout.offsets, before)
        assert layout.size <= sum(-(-one.size // 16) * 16 for one in buffers)
