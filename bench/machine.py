"""Limits of this machine: multiply-adds a second, and bytes a second that are read, or that a copy moves.

They are measured by loops that do nothing else, so that a kernel's figure can stand beside what is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from et_backends.codegen.format import ENTRY
from et_backends.native.runtime.threads import Code, shared_pool
from et_vm.backends.cpu import cpu_features, machine
from et_vm.backends.elf import LoadedObject, load_object

ACCUMULATORS = 12
"""Independent sums: more than the latency of a multiply-add times how many start in a cycle."""
TURNS = 200_000
PART = 1 << 28
"""Bytes that each thread reads: many times as many as caches hold."""


def best_instruction_set() -> str:
    """The most capable instruction set that the compiler knows and this machine has."""
    from et_backends.codegen.object_code import INSTRUCTION_SETS

    features = cpu_features()
    return next(name for name, one in INSTRUCTION_SETS.items() if features.issuperset(one.cpu_flags))


def _loop(lanes: int) -> str:
    """LLVM assembly of an entry point that multiplies and adds registers."""
    vector = f"<{lanes} x float>"
    sums = range(ACCUMULATORS)
    phis = "\n".join(f"  %s{one} = phi {vector} [ %i{one}, %entry ], [ %t{one}, %loop ]" for one in sums)
    products = "\n".join(
        f"  %t{one} = call {vector} @llvm.fma.v{lanes}f32({vector} %x, {vector} %x, {vector} %s{one})"
        for one in sums
    )
    adds = "\n".join(
        f"  %u{one} = fadd {vector} {f'%u{one - 1}' if one else 'zeroinitializer'}, %t{one}" for one in sums
    )
    # Sums that start alike would be one.
    starts = "\n".join(
        f"  %p{one} = getelementptr float, ptr %context, i64 {one}\n"
        f"  %i{one} = load {vector}, ptr %p{one}, align 4"
        for one in sums
    )
    return f"""
declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})

define void @native_entry(ptr %context, ptr %pointers, i64 %thread, i64 %threads) {{
entry:
  %x = load {vector}, ptr %context, align 4
  %offset = shl i64 %thread, 8
  %result = getelementptr i8, ptr %pointers, i64 %offset
{starts}
  br label %loop
loop:
  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{products}
  %next = add i64 %turn, 1
  %more = icmp ult i64 %next, {TURNS}
  br i1 %more, label %loop, label %done
done:
{adds}
  store {vector} %u{ACCUMULATORS - 1}, ptr %result, align 4
  ret void
}}
"""


def _reading_loop(lanes: int) -> str:
    """LLVM assembly of an entry point that adds up a part of `PART` bytes for each thread."""
    vector, step = f"<{lanes} x float>", ACCUMULATORS * lanes * 4
    sums = range(ACCUMULATORS)
    phis = "\n".join(
        f"  %s{one} = phi {vector} [ zeroinitializer, %entry ], [ %t{one}, %loop ]" for one in sums
    )
    adds = "\n".join(
        f"  %p{one} = getelementptr i8, ptr %place, i64 {one * lanes * 4}\n"
        f"  %v{one} = load {vector}, ptr %p{one}, align 4\n"
        f"  %t{one} = fadd {vector} %s{one}, %v{one}"
        for one in sums
    )
    totals = "\n".join(
        f"  %u{one} = fadd {vector} {f'%u{one - 1}' if one else 'zeroinitializer'}, %t{one}" for one in sums
    )
    return f"""
define void @native_entry(ptr %context, ptr %pointers, i64 %thread, i64 %threads) {{
entry:
  %offset = shl i64 %thread, 8
  %result = getelementptr i8, ptr %pointers, i64 %offset
  %start = mul i64 %thread, {PART}
  %part = getelementptr i8, ptr %context, i64 %start
  br label %loop
loop:
  %done = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
  %place = getelementptr i8, ptr %part, i64 %done
{adds}
  %next = add i64 %done, {step}
  %left = sub i64 {PART}, %next
  %more = icmp sge i64 %left, {step}
  br i1 %more, label %loop, label %end
end:
{totals}
  store {vector} %u{ACCUMULATORS - 1}, ptr %result, align 4
  ret void
}}
"""


@cache
def _loaded(loop: Callable[[int], str]) -> LoadedObject:
    """A loop as machine code."""
    from et_backends.codegen.object_code import INSTRUCTION_SETS, object_code

    target = INSTRUCTION_SETS[best_instruction_set()]
    number = machine()
    assert number is not None
    return load_object(memoryview(object_code(loop(target.lanes), target)), number)


def reads(threads: int) -> Callable[[], object]:
    """A run of a loop that reads `PART` bytes of memory on each of so many threads."""
    loaded = _loaded(_reading_loop)
    code, entry = Code(loaded), loaded.address(ENTRY)
    data, results = np.ones(PART * threads // 4, np.float32), np.zeros(64 * threads, np.float32)
    pool = shared_pool()

    def run() -> None:
        pool.run(code, entry, data.ctypes.data, results.ctypes.data, threads)

    return run


def multiply_adds(threads: int) -> Callable[[], object]:
    """A run of the loop on so many threads, `operations(threads)` in all."""
    loaded = _loaded(_loop)
    code, entry = Code(loaded), loaded.address(ENTRY)
    numbers, results = (
        np.linspace(0.5, 0.6, 16 + ACCUMULATORS, dtype=np.float32),
        np.zeros(64 * threads, np.float32),
    )
    pool = shared_pool()
    return lambda: pool.run(code, entry, numbers.ctypes.data, results.ctypes.data, threads)


def operations(threads: int) -> int:
    """Floating-point operations of a run: two for each multiply-add."""
    from et_backends.codegen.object_code import INSTRUCTION_SETS

    return 2 * threads * TURNS * ACCUMULATORS * INSTRUCTION_SETS[best_instruction_set()].lanes


def copy(nbytes: int, threads: int) -> Callable[[], object]:
    """A copy of so many bytes by the C library, each thread its part; reads and writes `2 * nbytes`."""
    source, target = np.ones(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
    parts = [
        (target[start : start + nbytes // threads], source[start : start + nbytes // threads])
        for start in range(0, nbytes - nbytes % threads, nbytes // threads)
    ]
    if threads == 1:
        return lambda: np.copyto(*parts[0])
    executor = ThreadPoolExecutor(threads)
    return lambda: list(executor.map(lambda part: np.copyto(*part), parts))
