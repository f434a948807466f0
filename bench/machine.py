"""Limits of this machine: multiply-adds a second, and bytes a second that a copy moves.

Both are measured by loops that do nothing else, so that a kernel's figure can stand beside what is possible.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from et_vm.backends.native.cpu import cpu_features, machine
from et_vm.backends.native.elf import LoadedObject, load_object
from et_vm.backends.native.threads import Code, shared_pool

ACCUMULATORS = 12
"""Independent sums: more than the latency of a multiply-add times how many start in a cycle."""
TURNS = 200_000
COPIED = 1 << 28
"""Bytes that are copied, of each buffer."""


def best_instruction_set() -> str:
    """The most capable instruction set that the compiler knows and this machine has."""
    from et_ir.backends.native.object_code import INSTRUCTION_SETS

    features = cpu_features()
    return next(name for name, one in INSTRUCTION_SETS.items() if features.issuperset(one.cpu_flags))


def _loops(lanes: int) -> str:
    """LLVM assembly of two entry points: `peak`, multiply-adds of registers, and `copy`, from one buffer to another."""
    vector = f"<{lanes} x float>"
    sums = range(ACCUMULATORS)
    phis = "\n".join(
        f"  %s{one} = phi {vector} [ zeroinitializer, %entry ], [ %t{one}, %loop ]" for one in sums
    )
    products = "\n".join(
        f"  %t{one} = call {vector} @llvm.fma.v{lanes}f32({vector} %x, {vector} %x, {vector} %s{one})"
        for one in sums
    )
    adds = "\n".join(
        f"  %u{one} = fadd {vector} {f'%u{one - 1}' if one else 'zeroinitializer'}, %t{one}" for one in sums
    )
    return f"""
declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})

define void @native_entry(ptr %context, ptr %pointers, i64 %thread, i64 %threads) {{
entry:
  %x = load {vector}, ptr %context, align 4
  %offset = shl i64 %thread, 8
  %result = getelementptr i8, ptr %pointers, i64 %offset
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


@cache
def _loaded(threads: int) -> tuple[Code, LoadedObject, int]:
    """The loops as machine code, and elements of a vector."""
    from et_ir.backends.native.object_code import INSTRUCTION_SETS, compiled_text

    target = INSTRUCTION_SETS[best_instruction_set()]
    number = machine()
    assert number is not None
    loaded = load_object(memoryview(compiled_text(_loops(target.lanes), target)), number)
    return Code(loaded), loaded, target.lanes
