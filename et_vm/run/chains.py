"""Concurrent chains: the interpreter loop of a method whose chains are partly ordered.

A chain starts when those that it waits for have ended. The thread that executes the method runs chains too; others are
given what else is ready. They live as long as the method does, and sleep in between. Each has a queue of its own, so
that handing over is one put and one get; who has nothing to do is in the list of the idle ones.

What is right is so whatever the order, as the file was verified to have no races (`et_vm.verify.chains`). A chain that
fails stops those behind it in the order of the file, before their next instruction; those before it go on, as one of
them may fail too: the failure is the one of the chains one after the other. An execution that is stopped from outside
(`et_vm.run.stopping`) stops in all chains, each before its next instruction.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from et_vm.load.code import unusual
from et_vm.run.interpreter import StepFailure, basic_blocks, run_blocks
from et_vm.run.stopping import Stopped
from et_vm.step import NOTHING, Step

if TYPE_CHECKING:
    from et_vm.load.instructions import Instruction
    from et_vm.run.stopping import Stop, Stops
    from et_vm.verify.chains import ChainOrder

__all__ = ["ChainLoop"]

_Job: TypeAlias = "tuple[ChainLoop, _Run, int] | None"
"""A chain of an execution, or None: there is none any more."""
_Inbox: TypeAlias = "SimpleQueue[_Job]"


class _StoppedError(Exception):
    """A chain ends before its end, as an earlier one has failed, or the execution is to stop."""


class _Run:
    """One execution. `lock` guards all of it but `failed`, which only gets lower."""

    __slots__ = ("caller", "failed", "failure", "left", "lock", "missing", "ready", "stop")

    def __init__(self, waits: Sequence[Sequence[int]], ready: Sequence[int], stop: Stop) -> None:
        self.stop = stop
        self.lock = threading.Lock()
        self.missing = [len(one) for one in waits]
        """By chain, how many of those that it waits for have not ended."""
        self.ready = deque(ready)
        self.left = len(waits)
        self.failed = len(waits)
        """The first chain that has failed; those behind it stop."""
        self.failure: StepFailure | None = None
        self.caller: _Inbox = SimpleQueue()


class ChainLoop:
    """Runs chains on up to `threads` threads, that of the caller among them.

    Calling it runs all of them once, and raises StepFailure, and Stopped if `stops` says so; one call at a time.

    Each chain may take `limit` instructions. `guard` is entered by each thread before it runs kernels.
    """

    def __init__(
        self,
        order: ChainOrder,
        instructions: Sequence[Instruction],
        steps: Sequence[Step],
        registers: list[object],
        threads: int,
        guard: Callable[[], AbstractContextManager[object]],
        limit: int,
        stops: Stops,
    ) -> None:
        self._bodies = [
            self._body(
                instructions,
                steps,
                registers,
                number,
                (order.starts[number], order.starts[number + 1]),
                limit,
            )
            for number in range(len(order.waits))
        ]
        self._starts = order.starts
        self._waits = order.waits
        self._followers: list[list[int]] = [[] for _ in order.waits]
        for number, waits in enumerate(order.waits):
            for before in waits:
                self._followers[before].append(number)
        self._first = [number for number, waits in enumerate(order.waits) if not waits]
        self._threads = min(threads, len(order.waits))
        self._guard = guard
        self._stops = stops
        self._workers: list[tuple[threading.Thread, _Inbox]] = []
        self._idle: list[_Inbox] = []
        self._finalizer: Callable[[], object] | None = None

    @staticmethod
    def _body(
        instructions: Sequence[Instruction],
        steps: Sequence[Step],
        registers: list[object],
        number: int,
        part: tuple[int, int],
        limit: int,
    ) -> Callable[[_Run], None]:
        """What runs a chain, the `part` of the instructions from the one to before the other; it raises StepFailure."""
        first, end = part

        def walk(run: _Run, steps: list[Step], indices: Sequence[int]) -> None:
            at = 0
            try:
                for function, arguments in steps:
                    if run.failed < number or run.stop.is_requested:
                        raise _StoppedError
                    function(*arguments)
                    at += 1
                # What follows may be a jump back, over no steps at all.
                if run.stop.is_requested:
                    raise _StoppedError
            except _StoppedError:
                raise
            except (Exception, SystemExit) as error:
                raise StepFailure(indices[at], error) from error

        jumps = any(first <= one.index < end and one.target >= 0 for one in unusual(instructions))
        if not jumps and end - first <= limit:
            live = [at for at in range(first, end) if steps[at] is not NOTHING]
            straight = [steps[at] for at in live]
            return lambda run: walk(run, straight, live)
        blocks = basic_blocks(instructions, steps, first, end)
        return lambda run: run_blocks(
            blocks, registers, limit, lambda steps, indices: walk(run, steps, indices)
        )

    def __call__(self) -> None:
        if not self._workers and self._threads > 1:
            self._start()
        run = _Run(self._waits, self._first, self._stops.current)
        try:
            self._serve(run, None, run.caller)
            while run.left:
                job = run.caller.get()
                if job is not None:
                    self._serve(run, job[2], run.caller)
        except BaseException:
            # The caller is interrupted, anywhere: nothing may write to its memory any more when it knows.
            run.failed = -1
            self._stop()
            raise
        if run.stop.is_requested:
            raise Stopped
        if run.failure is not None:
            raise run.failure

    def _serve(self, run: _Run, number: int | None, inbox: _Inbox) -> None:
        """Run a chain that is ready, if one is given, and then others, until none is; then the thread is idle."""
        while True:
            failure = None
            if number is not None and number < run.failed:
                try:
                    self._bodies[number](run)
                except StepFailure as error:
                    failure = error
                except _StoppedError:
                    pass
                except BaseException as error:
                    if inbox is run.caller:
                        raise
                    # Nobody would see what ends another thread than the caller's.
                    failure = StepFailure(self._starts[number], error)
            with run.lock:
                if number is not None:
                    if failure is not None and number < run.failed:
                        run.failed, run.failure = number, failure
                    run.left -= 1
                    for follower in self._followers[number]:
                        run.missing[follower] -= 1
                        if not run.missing[follower]:
                            run.ready.append(follower)
                    if not run.left:
                        self._end(run, inbox)
                        return
                if not run.ready:
                    self._idle.append(inbox)
                    return
                number = run.ready.popleft()
                while run.ready and self._idle:
                    self._idle.pop().put((self, run, run.ready.popleft()))

    def _end(self, run: _Run, inbox: _Inbox) -> None:
        """Tell the caller that all chains have ended, by the thread with this inbox."""
        if inbox is not run.caller:
            self._idle.append(inbox)
            self._idle.remove(run.caller)
            run.caller.put(None)

    # Threads

    def _start(self) -> None:
        for _ in range(self._threads - 1):
            inbox: _Inbox = SimpleQueue()
            thread = threading.Thread(
                target=_work, args=(inbox, self._guard), daemon=True, name="et_vm chains"
            )
            self._workers.append((thread, inbox))
            self._idle.append(inbox)
            thread.start()
        self._finalizer = weakref.finalize(self, _dismiss, [inbox for _, inbox in self._workers])

    def _stop(self) -> None:
        """End all threads when they have ended their jobs; the next call starts others."""
        workers, self._workers, self._idle = self._workers, [], []
        if self._finalizer is not None:
            self._finalizer()
        for thread, _ in workers:
            thread.join()


def _work(inbox: _Inbox, guard: Callable[[], AbstractContextManager[object]]) -> None:
    """The life of a thread: it holds the method only while it runs a chain of it."""
    with np.errstate(all="ignore"), guard():
        while (job := inbox.get()) is not None:
            job[0]._serve(job[1], job[2], inbox)  # pyright: ignore[reportPrivateUsage] (it is a part of the class)
            del job


def _dismiss(inboxes: Sequence[_Inbox]) -> None:
    for inbox in inboxes:
        inbox.put(None)
