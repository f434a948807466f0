"""Threads that share the work of machine code: a pool of the process, which lives as long as it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, NamedTuple

__all__ = ["ThreadPool", "shared_pool"]

Entry = Callable[[int, int, int, int], None]


class _Job(NamedTuple):
    """A call that each thread makes with a number of its own."""

    function: Entry
    context: int
    pointers: int
    threads: int
    done: threading.Semaphore


class ThreadPool:
    """Waiting threads, one for each number from 1: the caller of `run` is number 0.

    Jobs are put into all queues in the same order, so that threads which wait for each other in machine code are all
    there, also if several callers share the pool.
    """

    def __init__(self) -> None:
        self._queues: list[SimpleQueue[_Job]] = []
        self._lock = threading.Lock()

    def run(self, function: Entry, context: int, pointers: int, threads: int) -> None:
        """Call `function(context, pointers, thread, threads)` with each number of a thread; returns when all have."""
        done = threading.Semaphore(0)
        job = _Job(function, context, pointers, threads, done)
        with self._lock:
            while len(self._queues) < threads - 1:
                self._start()
            for queue in self._queues[: threads - 1]:
                queue.put(job)
        function(context, pointers, 0, threads)
        for _ in range(threads - 1):
            done.acquire()

    def _start(self) -> None:
        queue: SimpleQueue[_Job] = SimpleQueue()
        number = len(self._queues) + 1
        self._queues.append(queue)
        threading.Thread(target=_work, args=(queue, number), name=f"et-vm {number}", daemon=True).start()


def _work(queue: SimpleQueue[_Job], number: int) -> None:
    while True:
        job = queue.get()
        job.function(job.context, job.pointers, number, job.threads)
        job.done.release()


_POOL: Final = ThreadPool()


def shared_pool() -> ThreadPool:
    """The pool of the process; it has threads from the first job on that asks for them."""
    return _POOL
