"""Memory and work of the nodes that a backend evaluates.

Both are counted before a node is evaluated. A kernel's maker says what the kernel takes, from shapes alone (`Needs`);
the `Accountant` asks the platform for the bytes before the kernel runs, and keeps those of a result for as long as its
array, or a view of it, lives. Data derived from constants is counted in the same way, when the node is prepared.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from et_vm.values import Array, array_bytes
from et_vm.work import CALL

if TYPE_CHECKING:
    from et_vm.platform import Platform
    from et_vm.work import WorkMeter

__all__ = ["Accountant", "Needs"]

_Made = TypeVar("_Made")


class Needs:
    """What a node takes beside its operands and results: upper bounds.

    Attributes:
        nbytes: bytes of temporaries at one time.
        work: units of work (`et_vm.work`).
    """

    __slots__ = ("nbytes", "work")

    def __init__(self) -> None:
        self.nbytes = 0
        self.work = CALL

    def memory(self, sizes: Iterable[int] | int, itemsize: int, arrays: int = 1) -> None:
        """Count so many arrays of temporaries, of these sizes or so many elements, which are there at one time."""
        elements = sizes if isinstance(sizes, int) else prod(sizes)
        self.nbytes += max(elements, 0) * itemsize * arrays

    def visits(self, elements: int, times: int = 1, calls: int = 0) -> None:
        """Count a loop that runs `times` times: elements visited, or multiply-adds, and calls of functions in each."""
        self.work += max(times, 0) * (max(elements, 0) + calls * CALL)


class Accountant:
    """Counts what a delegate takes against the limits of a platform and the meter of an execution.

    Without either it counts nothing.
    """

    __slots__ = ("_kept", "_meter", "_platform")

    def __init__(self, platform: Platform | None = None, meter: WorkMeter | None = None) -> None:
        self._platform = platform if platform is not None and platform.memory_limit is not None else None
        self._meter = meter
        self._kept: list[object] = []
        """Reservations for data derived from constants."""

    def spend(self, work: int) -> None:
        """Count work that is about to be done. Raises ExecutorchError(OutOfResources) when it passes the limit."""
        if self._meter is not None:
            self._meter.spend(work)

    def derive(self, nbytes: int, build: Callable[[], _Made], temporaries: int = 0) -> _Made:
        """`build()`: arrays derived from constants, which take `nbytes` at most and are kept as long as the accountant;
        to make them takes `temporaries` in addition.

        Raises OutOfMemory or ExecutorchError(OutOfResources) before they are made if the limits would be passed.
        """
        self.spend(CALL + nbytes + temporaries)
        if self._platform is None:
            return build()
        bound = self._platform.reserve(nbytes + temporaries)
        made = build()
        taken = array_bytes(made)
        del bound
        self._kept.append(self._platform.reserve(taken))
        return made

    def evaluate(
        self, kernel: Callable[..., _Made], operands: Sequence[Array], results: int, temporaries: int
    ) -> _Made:
        """What `kernel` makes of `operands`: an array or a list of arrays, new ones or views of operands, which take
        `results` bytes in all.

        Raises OutOfMemory before it is made if the limit would be passed.
        """
        if self._platform is None:
            return kernel(*operands)
        bound = self._platform.reserve(results + temporaries)
        made = kernel(*operands)
        known = {id(_owner(one)) for one in operands}
        # Views may keep more alive than they show.
        owners = {id(one): one for one in map(_owner, _items(made)) if id(one) not in known}
        new: list[Array] = [one for one in owners.values() if isinstance(one, np.ndarray)]
        del bound
        if new:
            kept = self._platform.reserve(sum(one.nbytes for one in new))
            for one in new:
                weakref.finalize(one, _release, kept).atexit = False
        return made


def _items(made: object) -> list[object]:
    return cast("list[object]", made) if isinstance(made, list) else [made]


def _owner(array: object) -> object:
    """The array that a view is one of, whose memory lives as long as the view."""
    owner = array
    while True:
        # Between them may be what numpy makes views with strides of.
        base: object = getattr(owner, "base", None)
        if not hasattr(base, "base"):
            return owner
        owner = base


def _release(kept: object) -> None:
    """Keep a reservation until an array is gone."""
    del kept
