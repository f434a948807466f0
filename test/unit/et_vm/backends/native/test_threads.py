"""Threads: the same bits on any number of them, and several callers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from native_blobs import blob, tensor

from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.backends.native.backend import NativeBackend
from et_vm.backends.native.threads import ThreadPool
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
        found = list(callers.map(lambda seed: run(2 + seed % 3, seed, 30), seeds, timeout=60))
    assert found == expected


def test_a_pool_calls_each_number_once() -> None:
    called: list[tuple[int, int, int, int]] = []
    pool = ThreadPool()
    for threads in (1, 3, 2):
        called.clear()
        pool.run(lambda *given: called.append(given), 5, 6, threads)
        assert sorted(called) == [(5, 6, number, threads) for number in range(threads)]


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
