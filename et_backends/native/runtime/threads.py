"""Threads that share the work of machine code: a pool of the process, which lives as long as it.

Between calls the threads wait in machine code, so that neither a call nor its end passes through the interpreter: each
object defines `native_call` and `native_serve` for that, and the memory of the pool is what they agree on.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Final

import numpy as np

from et_backends.codegen.format import CALL, SERVE
from et_vm.backend import MAX_THREADS
from et_vm.backends.elf import LoadedObject
from et_vm.values import Array

__all__ = ["LINGER", "REST", "Code", "ThreadPool", "function_address", "shared_pool"]

LINGER: Final = 500_000
"""Nanoseconds in which a thread looks for the next call before it sleeps."""
REST: Final = 1
"""Seconds that a thread sleeps in the code of a program before it leaves it, and sleeps on outside."""

STACK: Final = 8 << 20
"""Bytes of the stack of a thread, whatever `threading.stack_size` says: machine code takes some hundred kilobytes."""

_SLOT = 256
_DONE = 128
_ASLEEP = 132
_FUTEX: Final = {"x86_64": 202, "AMD64": 202, "aarch64": 98, "arm64": 98}
_FUTEX_WAIT_PRIVATE = 128

_CALL_TYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
_WAIT_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_void_p
)
_SERVE_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


class Code:
    """Functions of an object with which threads call it. Whoever is in one of them holds the object in memory."""

    def __init__(self, loaded: LoadedObject):
        self._loaded = loaded
        self.call: Final = _CALL_TYPE(loaded.address(CALL))
        self.serve: Final = _SERVE_TYPE(loaded.address(SERVE))


class ThreadPool:
    """Waiting threads, one for each number from 1: the caller of `run` is number 0."""

    def __init__(self) -> None:
        self._memory = _memory()
        self._address = _address(self._memory)
        self.forget_threads()

    def forget_threads(self) -> None:
        """Begin without threads, as in the child of a fork, which has no other than the one that forked."""
        self._lock = threading.Lock()
        self._threads = 0
        self._code: Code | None = None
        self._memory[:] = 0
        words = self._memory.view(np.uint64)
        words[0] = function_address("sched_yield")
        words[1] = function_address("syscall")
        words[2] = function_address("clock_gettime")
        words[3:7] = _FUTEX.get(platform.machine(), 0), LINGER, REST, 0
        for place, name in enumerate(("sched_getcpu", "sched_getaffinity", "sched_setaffinity"), 7):
            words[place] = function_address(name)
        words[10] = len(os.sched_getaffinity(0))

    def run(self, code: Code, function: int, context: int, pointers: int, threads: int) -> None:
        """Call `function(context, pointers, thread, threads)` with each number of a thread; returns when all have.

        `function` is the address of code of any program. While another caller uses the pool, one thread does all of
        the work.
        """
        self.prepared(code, function, context, pointers, threads)()

    def prepared(
        self, code: Code, function: int, context: int, pointers: int, threads: int
    ) -> Callable[[], object]:
        """What `run` does, to be done any number of times.

        Converting the arguments is half of what a call costs when nothing of it is in a cache of the processor.
        """
        addresses = [ctypes.c_void_p(one) for one in (self._address, function, context, pointers)]
        alone = partial(code.call, *addresses, ctypes.c_int64(1))
        if threads == 1:
            return alone
        return partial(
            self._share, code, threads, partial(code.call, *addresses, ctypes.c_int64(threads)), alone
        )

    def _share(
        self, code: Code, threads: int, together: Callable[[], object], alone: Callable[[], object]
    ) -> None:
        if not self._lock.acquire(False):
            alone()
            return
        try:
            self._code = code
            while self._threads < threads - 1:
                self._start()
            together()
        finally:
            self._code = None
            self._lock.release()

    def _start(self) -> None:
        number = self._threads + 1
        slot = self._memory[number * _SLOT : (number + 1) * _SLOT].view(np.int32)
        slot[_ASLEEP // 4] = 1
        thread = threading.Thread(target=self._work, args=(number, slot), name=f"et-vm {number}", daemon=True)
        before = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
        self._threads = number

    def _work(self, number: int, slot: Array) -> None:
        """Serve calls in the code of the program that makes one, and sleep outside of it when none have come."""
        pool, address = self._address, _address(slot)
        wait = _WAIT_TYPE(function_address("syscall"))
        futex = _FUTEX[platform.machine()]
        while True:
            given = int(slot[0])
            if given == slot[_DONE // 4]:
                wait(futex, address, _FUTEX_WAIT_PRIVATE, given, None)
                continue
            code = self._code
            assert code is not None, "a call is done before its code is forgotten"
            code.serve(pool, number)
            del code


def _memory() -> Array:
    """Zeroed memory for the most threads that there may be, at the start of a slot."""
    nbytes = _SLOT * MAX_THREADS
    raw = np.zeros(nbytes + _SLOT, np.uint8)
    start = -_address(raw) % _SLOT
    return raw[start : start + nbytes]


def function_address(name: str) -> int:
    """The address of a function of the C library."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert address is not None
    return address


def _address(array: Array) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


@cache
def shared_pool() -> ThreadPool:
    """The pool of the process; it has threads from the first call on that asks for them."""
    pool = ThreadPool()
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=pool.forget_threads)
    return pool
