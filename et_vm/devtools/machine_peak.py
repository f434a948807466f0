"""Peaks of this machine, measured: operations a second on f32, and bytes a second that are read and written.

The arithmetic peak is that of a loop of multiply-adds in registers; where no such loop is known, that of a product
of matrices. The bandwidth is that of copying, changing in place or reading, whichever is fastest; it depends on how
many bytes there are, as caches are faster than memory, and is measured for working sets of several sizes. With both, a
roofline (Williams, Waterman, Patterson 2009) says how long the machine needs at least for so many operations on so
many bytes.
"""

from __future__ import annotations

import ctypes
import json
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from et_schema.errors import ExecutorchError
from et_schema.files import atomic_writer, cache_file
from et_vm.backends.elf import Image, map_image
from et_vm.devtools.machine_loops import Loops, best_loops

__all__ = ["CACHE", "MachinePeak", "machine_peak", "measured_peak", "processor_name"]

WORKING_SETS: Final = (1 << 15, 1 << 18, 1 << 21, 1 << 24, 1 << 27)
"""Bytes in use: what fits into each level of cache, and what does not."""
CACHE: Final = "machine-peaks.json"
"""The file of the cache."""
SLICE: Final = 0.01
"""Seconds of each measurement: there are at most 43."""
VERSION: Final = 2
"""Of the way to measure; kept figures of another are measured again."""


@dataclass(frozen=True)
class MachinePeak:
    """Rates that the processor reaches on `threads` threads."""

    processor: str
    """The processor's model, as the system tells it."""
    threads: int
    """Threads that were measured together."""
    how: str
    """Measurement of the arithmetic peak: an instruction set, or `matmul`."""
    flops: float
    """Operations a second on f32, two for each multiply-add."""
    bandwidths: tuple[tuple[int, float], ...]
    """Bytes of a working set, and bytes a second at which they are read and written, smallest set first."""

    def bandwidth(self, nbytes: int) -> float:
        """Bytes a second for a working set of `nbytes`: that of the smallest one measured that is not smaller."""
        return next((rate for size, rate in self.bandwidths if size >= nbytes), self.bandwidths[-1][1])

    def least_ns(self, flops: int | None, read: int | None, written: int | None) -> float:
        """Nanoseconds that operations and bytes take at least, by whichever is longer; 0 if nothing is known.

        What is written may lie where it was read: the larger of both is taken for the working set.
        """
        arithmetic = 0.0 if not flops else flops / self.flops
        traffic = (read or 0) + (written or 0)
        memory = traffic / self.bandwidth(max(read or 0, written or 0)) if traffic else 0.0
        return 1e9 * max(arithmetic, memory)

    def json(self) -> dict[str, Any]:
        """The peaks as JSON has them."""
        return {
            "processor": self.processor,
            "threads": self.threads,
            "how": self.how,
            "gflops": self.flops / 1e9,
            "bandwidths": [{"bytes": size, "gbps": rate / 1e9} for size, rate in self.bandwidths],
        }


def machine_peak(threads: int, *, again: bool = False) -> MachinePeak:
    """The peaks on so many threads, from the cache folder, or measured in less than a second and kept there.

    A cache that cannot be read or written is done without; `again` measures anew.
    """
    processor = processor_name()
    key = f"{processor}; {threads} threads; numpy {np.__version__}; {VERSION}"
    kept = {} if again else _read()
    found = _parsed(kept.get(key), processor, threads)
    if found is None:
        found = measured_peak(threads)
        _keep(key, found)
    return found


def measured_peak(threads: int) -> MachinePeak:
    """The peaks, measured now."""
    code = _Code.of_this_machine()
    flops = _matmul_rate() if code is None else code.multiply_add_rate(threads)
    bandwidths = _bandwidths(threads, code)
    how = "matmul" if code is None else code.loops.name
    return MachinePeak(processor_name(), threads, how, flops, bandwidths)


class _Code:
    """The loops of this machine in executable memory."""

    def __init__(self, loops: Loops) -> None:
        """Raises ExecutorchError where the system lets no memory be executable."""
        self.loops = loops
        parts = {"multiply_add": loops.multiply_add, "copy": loops.copy, "read": loops.read}
        starts = dict(zip(parts, accumulate(map(len, parts.values()), initial=0), strict=False))
        self._memory = map_image(Image(b"".join(parts.values()), starts))
        self._multiply_add = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._memory.address("multiply_add"))
        move = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self._copy, self._read = (move(self._memory.address(name)) for name in ("copy", "read"))

    @classmethod
    def of_this_machine(cls) -> _Code | None:
        loops = best_loops()
        try:
            return None if loops is None else cls(loops)
        except ExecutorchError:
            return None

    def multiply_add_rate(self, threads: int) -> float:
        """Operations a second."""
        turns = 20_000
        work = turns * self.loops.flops
        return max(_rate(lambda: lambda: self._multiply_add(turns), threads, work) for _ in range(3))

    def bandwidth(self, nbytes: int, threads: int) -> float:
        """Bytes a second, read and written, with working sets of `nbytes` on each thread."""
        return max(
            self._rate(nbytes // 2, threads, self._copy, 2, in_place=False),
            self._rate(nbytes, threads, self._copy, 2, in_place=True),
            self._rate(nbytes, threads, self._read, 1, in_place=True),
        )

    def _rate(
        self, nbytes: int, threads: int, function: Callable[..., object], passes: int, *, in_place: bool
    ) -> float:
        """That of a function that goes over `nbytes`, once or twice."""
        size = max(nbytes // self.loops.step, 1) * self.loops.step
        turns = max(1, (1 << 20) // size)

        def make() -> Callable[[], object]:
            source = _aligned(size)
            target = source if in_place else _aligned(size)
            places = source.ctypes.data, target.ctypes.data

            def run(_: object = (source, target)) -> None:  # it keeps them
                function(turns, *places, size)

            return run

        return _rate(make, threads, passes * size * turns)


def _aligned(nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Ones that start at a line of the cache."""
    raw = np.ones(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def _matmul_rate() -> float:
    """Operations a second of a product, on as many threads as numpy's library takes."""
    a = np.ones((512, 512), np.float32)
    out = np.empty_like(a)
    return max(_rate(lambda: lambda: np.matmul(a, a, out=out), 1, 2 * 512**3) for _ in range(3))


def _bandwidths(threads: int, code: _Code | None) -> tuple[tuple[int, float], ...]:
    """The faster of the loop and of the C library's copy, which goes around the caches where that is faster."""
    found: list[tuple[int, float]] = []
    fastest = 0.0
    for size in reversed(WORKING_SETS):
        for count in sorted({1, threads}):
            share = size // count
            fastest = max(fastest, _rate(partial(_library_copy, share), count, share))
            if code is not None:
                fastest = max(fastest, code.bandwidth(share, count))
        # What is fast for a set is fast for a smaller one, or calls are what is measured there.
        found.append((size, fastest))
    return tuple(reversed(found))


def _library_copy(nbytes: int) -> Callable[[], object]:
    source, target = np.ones(nbytes // 2, np.uint8), np.zeros(nbytes // 2, np.uint8)
    return lambda: np.copyto(target, source)


def _rate(make: Callable[[], Callable[[], object]], threads: int, work: int) -> float:
    """Units a second of `threads` threads, each of which repeats what `make()` gives, `work` units a call."""
    barrier = threading.Barrier(threads)
    spans: list[tuple[float, float, int]] = []

    def repeat() -> None:
        run = make()
        run()
        barrier.wait()
        start, calls = time.perf_counter(), 0
        while calls == 0 or time.perf_counter() - start < SLICE:
            run()
            calls += 1
        spans.append((start, time.perf_counter(), calls))

    others = [threading.Thread(target=repeat) for _ in range(threads - 1)]
    for one in others:
        one.start()
    repeat()
    for one in others:
        one.join()
    seconds = max(end for _, end, _ in spans) - min(start for start, _, _ in spans)
    return work * sum(calls for _, _, calls in spans) / seconds


# -- the cache


def processor_name() -> str:
    """The processor's model, as the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    fields: dict[str, str] = {}
    for line in text.split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    wanted = ("model name", "cpu family", "model", "stepping", "CPU implementer", "CPU part", "CPU revision")
    return " ".join([platform.machine(), *(fields[name] for name in wanted if name in fields)])


def _read() -> dict[str, Any]:
    try:
        kept: object = json.loads(cache_file(CACHE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}  # measured again, and then replaced
    return cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}


def _parsed(kept: Any, processor: str, threads: int) -> MachinePeak | None:
    try:
        sets = tuple((int(one["bytes"]), 1e9 * float(one["gbps"])) for one in kept["bandwidths"])
        flops = 1e9 * float(kept["gflops"])
        how = str(kept["how"])
    except (TypeError, KeyError, ValueError):
        return None
    valid = (
        flops > 0 and tuple(size for size, _ in sets) == WORKING_SETS and all(rate > 0 for _, rate in sets)
    )
    return MachinePeak(processor, threads, how, flops, sets) if valid else None


def _keep(key: str, found: MachinePeak) -> None:
    text = json.dumps({**_read(), key: found.json()}, indent=1) + "\n"
    try:
        path = cache_file(CACHE)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_writer(path) as stream:
            stream.write(text.encode())
    except OSError:
        return  # a folder that is read-only: measured again next time
