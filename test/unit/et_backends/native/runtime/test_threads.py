"""Threads: the same bits on any number of them, and several callers at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    c_int,
    c_int64,
    c_long,
    c_void_p,
    cast,
    memset,
    string_at,
)
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.native_blobs import blob, here, program, tensor

from et_backends.native.runtime import threads as native_threads
from et_backends.native.runtime.backend import NativeBackend
from et_backends.native.runtime.threads import LINGER, REST, Code, ThreadPool, shared_pool
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.backends.elf import load_object, machine_of
from et_vm.platform import Platform
from et_vm.runtime import Runtime

RUN = BackendExecuteContext(Platform(), None, "forward", 0)


def run(threads: int, seed: int, repeat: int = 1) -> list[bytes]:
    """The bytes of the outputs of as many executions, on inputs made from the seed."""
    options = NativeOptions(allowed=True, threads=threads)
    context = BackendInitContext(Platform(), None, "forward", {}, native=options)
    backend = NativeBackend()
    handle = backend.init(context, memoryview(blob()), [])
    random, found = np.random.default_rng(seed), []
    for _ in range(repeat):
        shapes = ((5, 8), (8, 20), (5, 20), (5, 8))
        args = [tensor(random.standard_normal(shape).astype(np.float32)) for shape in shapes]
        backend.execute(RUN, handle, args)
        found.append(b"".join(arg.array.tobytes() for arg in args[2:]))
    return found


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_same_bits(threads: int) -> None:
    assert run(threads, 0, 20) == run(1, 0, 20)


def test_callers_at_once() -> None:
    """Executions of several methods, each with threads that wait for each other, neither mix nor block."""
    seeds = range(6)
    expected = [run(1, seed, 30) for seed in seeds]
    with ThreadPoolExecutor(len(seeds)) as callers:
        found = list(callers.map(lambda seed: run(2 + seed % 3, seed, 30), seeds))
    assert found == expected


@CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int64)
def note(context: int, pointers: int, thread: int, threads: int) -> None:
    """A function that threads call: appends its arguments."""
    CALLED.append((context, pointers, thread, threads))


CALLED: list[tuple[int, int, int, int]] = []
NOTE = cast(note, c_void_p).value or 0


def loaded() -> Code:
    """The functions of an object of its own, in memory of its own."""
    (chosen,) = (one for one in program().objects if machine_of(memoryview(one.code)) == here())
    return Code(load_object(memoryview(chosen.code), here()))


def calls(pool: ThreadPool, threads: int, code: Code | None = None) -> list[int]:
    """The numbers of threads that a call of the pool is made with, in order."""
    CALLED.clear()
    pool.run(code or loaded(), NOTE, 5, 6, threads)
    assert {(context, pointers, threads) for context, pointers, _, threads in CALLED} == {(5, 6, len(CALLED))}
    return sorted(thread for _, _, thread, _ in CALLED)


class Sleep(NamedTuple):
    """A thread that begins to sleep: in the code of a program, for a time, or outside of it."""

    thread: int
    limit: tuple[int, int] | None
    """Seconds and nanoseconds."""
    looks: int
    """At the clock, since the last sleep: as long as it is looking for the next call."""


class Platforms:
    """The functions of the system that threads of pools call: a clock that goes on by a tenth of `LINGER` each time
    somebody looks at it, and sleep that is noted, and whose limits are over at once.

    Which of the places a thread waits in when the next call comes depends on what else the machine does; here the test
    says so.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, sleeps_end: bool = True) -> None:
        self.slept: SimpleQueue[Sleep] = SimpleQueue()
        self._sleeps_end = sleeps_end
        self._looks: Counter[int] = Counter()
        self._time = count(0, LINGER // 10)
        self._syscall = CDLL(None).syscall
        self._syscall.restype = c_long
        fakes: dict[str, Any] = {
            "clock_gettime": CFUNCTYPE(c_int, c_int, POINTER(c_int64))(self._gettime),
            "syscall": CFUNCTYPE(c_long, c_long, c_void_p, c_long, c_long, c_void_p)(self._futex),
        }
        replace_functions(monkeypatch, fakes)

    def _gettime(self, clock: int, time: Any) -> int:
        del clock
        self._looks[threading.get_ident()] += 1
        time[0], time[1] = divmod(next(self._time), 10**9)
        return 0

    def _futex(self, number: int, word: int, operation: int, value: int, limit: int | None) -> int:
        if operation & 1:  # FUTEX_WAKE
            return self._syscall(c_long(number), c_void_p(word), c_long(operation), c_long(value), None)
        times = None if limit is None else tuple(cast(limit, POINTER(c_int64))[0:2])
        thread = threading.get_ident()
        self.slept.put(Sleep(thread, times, self._looks.pop(thread, 0)))
        if limit is not None and self._sleeps_end:
            return -1
        return self._syscall(c_long(number), c_void_p(word), c_long(operation), c_long(value), None)


def replace_functions(monkeypatch: pytest.MonkeyPatch, fakes: dict[str, Any]) -> None:
    """Have pools call these functions in the place of the C library's. Threads may call them for ever."""
    known = native_threads.function_address
    KEPT.append(fakes)

    def address(name: str) -> int:
        return cast(fakes[name], c_void_p).value or 0 if name in fakes else known(name)

    monkeypatch.setattr(native_threads, "function_address", address)


KEPT: list[dict[str, Any]] = []


def test_a_pool_calls_each_number_once() -> None:
    """One call after the other, while threads look for the next one as a rule."""
    pool = ThreadPool()
    for threads in (1, 3, 2, 4, 3):
        assert calls(pool, threads) == list(range(threads))


@pytest.mark.parametrize("sleeps_end", [False, True])
def test_a_pool_that_sleeps_calls_each_number_once(sleeps_end: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads sleep in the code of a program, or outside of it, when the next call comes."""
    platform = Platforms(monkeypatch, sleeps_end=sleeps_end)
    pool = ThreadPool()
    for threads in (1, 3, 2, 4, 3):
        assert calls(pool, threads) == list(range(threads))
        left: set[int] = set()
        asleep = 0
        while asleep < threads - 1:
            sleep = platform.slept.get()
            if sleep.limit is not None:
                left.add(sleep.thread)
                asleep += not sleeps_end
            elif sleep.thread in left:
                left.remove(sleep.thread)
                asleep += sleeps_end


def test_stacks_of_threads() -> None:
    """A program may ask for small ones: the pool's have room for machine code all the same, and leave the setting."""
    script = """
import ctypes, threading
from et_backends.native.runtime.threads import STACK, ThreadPool

libc = ctypes.CDLL(None, use_errno=True)
libc.pthread_self.restype = ctypes.c_void_p
libc.pthread_getattr_np.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
found = []

class Measured(ThreadPool):
    def _work(self, number, slot):
        attributes, size = ctypes.create_string_buffer(256), ctypes.c_size_t()
        assert libc.pthread_getattr_np(libc.pthread_self(), attributes) == 0
        assert libc.pthread_attr_getstacksize(attributes, ctypes.byref(size)) == 0
        found.append(size.value)

threading.stack_size(256 << 10)
pool = Measured()
pool._start()
[one.join() for one in threading.enumerate() if one.name == "et-vm 1"]
assert found == [STACK], found
assert threading.stack_size() == 256 << 10
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_programs_are_unloaded() -> None:
    """A thread keeps the code that it waits in; after a rest of `REST` seconds nobody does."""
    pool = ThreadPool()
    kept: list[weakref.ref[Code]] = []
    unloaded = threading.Semaphore(0)
    for _ in range(5):
        code = loaded()
        kept.append(weakref.ref(code, lambda _: unloaded.release()))
        assert calls(pool, 2, code) == [0, 1]
        del code
    assert sum(one() is not None for one in kept) <= 1
    for _ in kept:
        unloaded.acquire()
    assert calls(pool, 3) == [0, 1, 2]


def test_threads_rest_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads look for the next call for `LINGER`, sleep for `REST`, then until they are woken: they take no time of a
    processor.
    """
    platform = Platforms(monkeypatch)
    assert calls(ThreadPool(), 4) == [0, 1, 2, 3]
    slept: defaultdict[int, list[Sleep]] = defaultdict(list)
    while sum(one[-1].limit is None and len(one) > 1 for one in slept.values()) < 3:
        sleep = platform.slept.get()
        slept[sleep.thread].append(sleep)
    assert len(slept) == 3
    for each in slept.values():
        first = each[0].limit is None  # before the call: it had not come when the thread started
        assert [one.limit for one in each[first:]] == [(REST, 0), None]
        assert [one.looks <= 13 for one in each] == [True] * len(each)
    assert platform.slept.empty()


def test_threads_leave_the_processor_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is to work where its caller does leaves that processor, and may run on all of them afterwards.

    Where the scheduler puts threads depends on what else the machine does: the test says where they are, and sees what
    they ask for.
    """
    places, asked = {"caller": 0, "thread": 0}, list[set[int]]()
    caller = threading.get_ident()

    @CFUNCTYPE(c_int)
    def getcpu() -> int:
        return places["caller" if threading.get_ident() == caller else "thread"]

    @CFUNCTYPE(c_int, c_int, c_int64, c_void_p)
    def getaffinity(process: int, size: int, mask: int) -> int:
        memset(mask, 0, size)
        memset(mask, 0b111, 1)
        return 0

    @CFUNCTYPE(c_int, c_int, c_int64, c_void_p)
    def setaffinity(process: int, size: int, mask: int) -> int:
        bits = int.from_bytes(string_at(mask, size), "little")
        asked.append({place for place in range(8 * size) if bits >> place & 1})
        return 0

    replace_functions(
        monkeypatch,
        {"sched_getcpu": getcpu, "sched_getaffinity": getaffinity, "sched_setaffinity": setaffinity},
    )
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    pool = ThreadPool()
    assert calls(pool, 2) == [0, 1]
    assert asked == [{1, 2}, {0, 1, 2}]
    asked.clear()
    places["caller"] = places["thread"] = 2
    assert calls(pool, 2) == [0, 1]
    assert asked == [{0, 1}, {0, 1, 2}]
    asked.clear()
    places["thread"] = 1
    assert calls(pool, 2) == [0, 1]
    assert asked == []


def test_a_pool_in_use() -> None:
    """A caller that finds the pool in use does all of its work itself."""
    pool, code = ThreadPool(), loaded()
    found: list[list[int]] = []

    @CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int64)
    def call_again(context: int, pointers: int, thread: int, threads: int) -> None:
        if thread == 0:
            found.append(calls(pool, 2))

    pool.run(code, cast(call_again, c_void_p).value or 0, 0, 0, 2)
    assert found == [[0]]
    assert calls(pool, 2) == [0, 1]


def test_forks() -> None:
    """A child has threads of its own, also if the parent's were at work."""
    expected = run(1, 3)
    assert run(2, 3) == expected
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        child = os.fork()
    if child == 0:
        os._exit(0 if run(2, 3) == expected else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert run(2, 3) == expected


def test_calls_prepared_before_a_fork() -> None:
    """They use the child's threads there."""
    pool, code = shared_pool(), loaded()
    call = pool.prepared(code, NOTE, 5, 6, 3)
    CALLED.clear()
    call()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        child = os.fork()
    if child == 0:
        call()
        os._exit(0 if sorted(thread for _, _, thread, _ in CALLED) == [0, 0, 1, 1, 2, 2] else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_end_of_a_process() -> None:
    """Threads may wait in machine code when the interpreter ends."""
    script = "import test_threads; assert test_threads.run(4, 0) == test_threads.run(1, 0)"
    folders = [str(Path(__file__).parent), *sys.path]
    for _ in range(3):
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        )


@pytest.mark.parametrize("text", ["0", "257", "-1", "1.5", "", "two"])
def test_numbers_of_threads_in_the_environment(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ET_VM_THREADS", text)
    with pytest.raises(ExecutorchError, match=f"ET_VM_THREADS={text}: a number from 1 to 256") as caught:
        Runtime()
    assert caught.value.code == Error.InvalidArgument
    Runtime(threads=2)


@pytest.mark.parametrize("threads", [0, -1, 257])
def test_numbers_of_threads_of_a_runtime(threads: int) -> None:
    with pytest.raises(ExecutorchError, match=f"threads={threads}: a number from 1 to 256"):
        Runtime(threads=threads)
