"""Checkpoints along an execution, in a bounded amount of memory."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_vm.run.machine import Checkpoint

__all__ = ["Timeline"]

INTERVAL = 8
"""Steps between the first checkpoints."""
MOST = 64
"""Checkpoints before their interval doubles, as few as there are bytes for."""


class Timeline:
    """Checkpoints by the number of steps taken before them.

    Each time that there are too many, or that they take more than `memory_limit` bytes, every second one goes and the
    interval doubles: the distance to the nearest one is at most a `MOST`-th of the execution or `INTERVAL`, or more if
    memory is short. The first always stays.
    """

    def __init__(self, memory_limit: int) -> None:
        self._memory_limit = memory_limit
        self._interval = INTERVAL
        self._steps: list[int] = []
        self._checkpoints: list[Checkpoint] = []

    def is_due(self, step: int) -> bool:
        """Whether a checkpoint should be made at `step`."""
        return not self._steps or step >= self._steps[-1] + self._interval

    def add(self, step: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint that is later than all others."""
        self._steps.append(step)
        self._checkpoints.append(checkpoint)
        while len(self._steps) > 1 and (len(self._steps) > MOST or self.nbytes > self._memory_limit):
            self._interval *= 2
            kept = range(0, len(self._steps), 2)
            self._steps = [self._steps[at] for at in kept]
            self._checkpoints = [self._checkpoints[at] for at in kept]

    def latest(self, step: int) -> tuple[int, Checkpoint]:
        """The last checkpoint at or before `step`, and its step."""
        at = bisect_right(self._steps, step) - 1
        return self._steps[at], self._checkpoints[at]

    def forget_after(self, step: int) -> None:
        """Drop the checkpoints at `step` and later."""
        at = bisect_right(self._steps, step - 1)
        del self._steps[at:], self._checkpoints[at:]

    @property
    def nbytes(self) -> int:
        """Bytes of all checkpoints."""
        return sum(checkpoint.nbytes for checkpoint in self._checkpoints)
