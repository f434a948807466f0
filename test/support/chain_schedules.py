"""A deterministic scheduler of chains: every interleaving of a small program, random ones of a larger, under poison.

It executes one instruction of one chain at a time, on one thread. Which chain is next is what a schedule says. What an
instruction reads for the last time in the order of the file is poisoned when the chains that may still read it, those
before it in the file that are not ordered with it and touch the same bytes, have ended, too.

All interleavings are as many as there are ways through a lattice, but the states of memory and registers in between are
few: where two ways lead to equal states at equal places, one of them is gone on with. That covers all of them, as an
instruction depends on nothing but the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from et_schema.errors import FIRST, ExecutorchError
from et_vm.load.instructions import Instruction
from et_vm.program import Program
from et_vm.run.interpreter import StepFailure, step_once
from et_vm.run.poison import bind_ranges
from et_vm.values import Tensor
from et_vm.verify import chains as verify_chains
from et_vm.verify.liveness import ByteLiveness, Range, delegate_writes

if TYPE_CHECKING:
    import pytest

__all__ = ["Outcome", "Scheduler", "interleavings", "without_races_checked"]

Outcome = tuple[object, ...]
"""The outputs of an execution as bytes, or the message of a trap."""


class _State(NamedTuple):
    """A state between two instructions: where each chain is, and what is in memory."""

    places: tuple[int, ...]
    pending: frozenset[tuple[int, int]]
    """Instructions, and the numbers of the ranges they read for the last time, that are not poisoned yet."""


def without_races_checked(patch: pytest.MonkeyPatch) -> None:
    """Let files load whose chains race, to see what they compute."""
    patch.setattr(verify_chains, "chain_order", lambda *_: None)


class Scheduler:
    """Executes a method of a file in orders of its chains. The method is loaded for a thread, with poison."""

    def __init__(self, file: bytes, name: str = "forward") -> None:
        program = Program.load(file)
        index = program.plan_index(name)
        plan = program.pte.program.execution_plan[index]
        self.method = program.load_method(name, poison=True)
        self.instructions: Sequence[Instruction] = self.method.instructions
        starts = [0]
        for chain in plan.chains:
            starts.append(starts[-1] + len(chain.instructions))
        waits = verify_chains._waits(plan, "", FIRST)
        self.order = verify_chains.ChainOrder(starts, waits)
        before = self.order.closed()
        flow = program.flow(index)
        delegates = [delegate_writes(program.pte, delegate) for delegate in plan.delegates]
        liveness = ByteLiveness(plan, self.instructions, flow.rebound, delegates)
        self._overwritten = [bind_ranges(one, self.method._memory) for one in liveness.overwritten_by]
        accesses = verify_chains._Accesses(program.pte, plan, self.instructions, self.order)
        places = [
            [place for register, _ in accesses._registers(one) for place in accesses._places(register)]
            for one in self.instructions
        ]
        cuts = {bound for one in places for _, first, end in one for bound in (first, end)}
        # Neighbors may be dead for others at other times.
        dead = [[part for whole in ranges for part in _cut(whole, cuts)] for ranges in liveness.dead_after]
        self._dying = [bind_ranges(one, self.method._memory) for one in dead]
        touched = [
            [place for at in range(*starts[number : number + 2]) for place in places[at]]
            for number in range(len(waits))
        ]
        self._readers = [
            [
                [
                    other
                    for other in range(chain)
                    if not before[chain] >> other & 1
                    and any(
                        resource == memory_id and first < end and start < last
                        for resource, first, last in touched[other]
                    )
                ]
                for memory_id, start, end, _ in ranges
                if end > start
            ]
            for at, ranges in enumerate(dead)
            for chain in (self.order.chain_of(at),)
        ]
        """By instruction, and by range that it reads for the last time: the chains before its own that may still."""

    # -- executions

    def in_order(self, inputs: Sequence[Any]) -> Outcome:
        """The order of the file."""
        return self.run(inputs, lambda chains: chains[0])

    def random(self, inputs: Sequence[Any], seed: int) -> Outcome:
        """An order that a seed stands for: each time one of the chains that can go on does, or the same as before, so
        that there are schedules with long runs, too.
        """
        random = Random(seed)
        stays = random.random()
        last = -1

        def choose(chains: Sequence[int]) -> int:
            nonlocal last
            if last not in chains or random.random() > stays:
                last = random.choice(chains)
            return last

        return self.run(inputs, choose)

    def run(self, inputs: Sequence[Any], choose: Callable[[Sequence[int]], int]) -> Outcome:
        """One execution; `choose` takes one of the chains that can go on."""
        self._begin(inputs)
        state = self._first()
        try:
            while chains := self._enabled(state):
                state = self._advance(state, choose(chains))
        except ExecutorchError as error:
            return (error.message,)
        return self._outputs()

    def every(self, inputs: Sequence[Any]) -> tuple[set[Outcome], int]:
        """What all interleavings compute, and how many states there are between them."""
        self._begin(inputs)
        machine = self.method.machine
        state = self._first()
        todo = [(state, machine.capture(0, 0))]
        seen = {(state, self._contents())}
        found: set[Outcome] = set()
        while todo:
            state, checkpoint = todo.pop()
            chains = self._enabled(state)
            if not chains:
                machine.restore(checkpoint)
                found.add(self._outputs())
            for chain in chains:
                machine.restore(checkpoint)
                try:
                    following = self._advance(state, chain)
                except ExecutorchError as error:
                    found.add((error.message,))
                    continue
                key = following, self._contents()
                if key not in seen:
                    seen.add(key)
                    todo.append((following, machine.capture(0, 0)))
        return found, len(seen)

    # -- instructions

    def _begin(self, inputs: Sequence[Any]) -> None:
        self.method._begin()
        self.method._set_inputs([np.array(one) for one in inputs])

    def _first(self) -> _State:
        return _State(tuple(self.order.starts[:-1]), frozenset())

    def _ended(self, state: _State, chain: int) -> bool:
        return state.places[chain] >= self.order.starts[chain + 1]

    def _enabled(self, state: _State) -> list[int]:
        return [
            chain
            for chain in range(len(state.places))
            if not self._ended(state, chain)
            and all(self._ended(state, one) for one in self.order.waits[chain])
        ]

    def _advance(self, state: _State, chain: int) -> _State:
        at = state.places[chain]
        for view, pattern in self._overwritten[at]:
            view.fill(pattern)
        try:
            with np.errstate(all="ignore"):
                following = step_once(
                    self.instructions[at], self.method._steps[at], self.method._registers, _nothing, _nothing
                )
        except StepFailure as failure:
            cause = failure.cause
            raise cause if isinstance(cause, ExecutorchError) else ExecutorchError(0, str(cause)) from None
        places = (*state.places[:chain], following, *state.places[chain + 1 :])
        pending = state.pending | {(at, number) for number in range(len(self._dying[at]))}
        after = _State(places, pending)
        over = {
            (one, number)
            for one, number in pending
            if all(self._ended(after, other) for other in self._readers[one][number])
        }
        for one, number in sorted(over):
            view, pattern = self._dying[one][number]
            view.fill(pattern)
        return _State(places, pending - over)

    # -- contents

    def _outputs(self) -> Outcome:
        return tuple(
            one.tobytes() if isinstance(one, np.ndarray) else one for one in self.method.get_outputs()
        )

    def _contents(self) -> tuple[object, ...]:
        """Memory, and what registers hold, in a form that can be compared."""
        method = self.method
        arenas = tuple(
            method.machine.arena(memory_id).tobytes()
            for memory_id, nbytes in enumerate(method._plan.non_const_buffer_sizes)
            if nbytes
        )
        held: list[object] = []
        for value in method._registers:
            if not isinstance(value, Tensor):
                held.append(value if isinstance(value, int | float | bool | str) else None)
            elif not value.has_data:
                held.append(None)
            elif value.storage is not None and value.storage.flags.writeable:
                held.append((value.sizes, value.storage.ctypes.data, value.array.tobytes()))
        return (arenas, tuple(held))


def interleavings(lengths: Sequence[int]) -> int:
    """The number of interleavings of chains that do not wait for each other."""
    total, ways = 0, 1
    for length in lengths:
        for step in range(1, length + 1):
            total += 1
            ways = ways * total // step
    return ways


def _cut(whole: Range, cuts: Set[int]) -> list[Range]:
    """The parts of a range between some of its bytes."""
    bounds = sorted({whole.start, whole.end, *(cut for cut in cuts if whole.start < cut < whole.end)})
    return [whole._replace(start=start, end=end) for start, end in pairwise(bounds)]


def _nothing(_: Instruction) -> None:
    pass
