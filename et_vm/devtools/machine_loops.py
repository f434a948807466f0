"""Loops in machine code that multiply and add, copy, or read.

A vector unit reaches its peak when it starts a multiply-add in every cycle. The loop has as many accumulators as there
are registers for, more than the latency of an instruction times how many start in a cycle, and touches no memory. The
loop that copies does so again and again, as the time of a call would be longer than that of a copy within a cache.
The encodings are those of the Intel 64 manual (volume 2, sections 2.3 and 2.7) and of the Arm manual (C6.2 and C7.2).
"""

from __future__ import annotations

import platform
from collections.abc import Set
from dataclasses import dataclass

from et_vm.backends.cpu import cpu_features

__all__ = ["Loops", "avx2_loops", "avx512_loops", "best_loops", "neon_loops"]


@dataclass(frozen=True)
class Loops:
    """Functions in the calling convention of C, position-independent; each does at least one turn."""

    name: str
    """The instruction set."""
    multiply_add: bytes
    """`void (int64_t turns)`."""
    flops: int
    """Operations of a turn of `multiply_add` on f32: two for each multiply-add of a lane."""
    copy: bytes
    """`void (int64_t turns, void *source, void *target, int64_t nbytes)`."""
    read: bytes
    """The same, but nothing is written."""
    step: int
    """The unit of which `nbytes` is a multiple."""


def best_loops(architecture: str | None = None, features: Set[str] | None = None) -> Loops | None:
    """The loops of the widest vectors of this machine; None where none are known."""
    architecture = platform.machine() if architecture is None else architecture
    features = cpu_features() if features is None else features
    if architecture in ("x86_64", "AMD64") and platform.system() == "Linux":
        if "avx512f" in features:
            return avx512_loops()
        return avx2_loops() if {"avx2", "fma"} <= features else None
    return neon_loops() if architecture == "aarch64" and platform.system() == "Linux" else None


def avx512_loops() -> Loops:
    """24 accumulators of 16 lanes, `zmm0` to `zmm23`; factors are `zmm30` and `zmm31`."""
    sums = range(24)
    # vpxord zmm, zmm, zmm: opcode map 0F, prefix 66, opcode EF.
    clear = b"".join(_evex(1, 0xEF, at, at, at) for at in (*sums, 30, 31))
    # vfmadd231ps: opcode map 0F38, prefix 66, opcode B8.
    body = [_evex(2, 0xB8, at, 30, 31) for at in sums]
    # vmovups zmm, [base + rax + 64 * at]: displacements of one byte count vectors.
    loads = [bytes((0x62, 0xF1, 0x7C, 0x48, 0x10, 0x44 | at << 3, 0x06, at)) for at in range(4)]
    stores = [bytes((0x62, 0xF1, 0x7C, 0x48, 0x11, 0x44 | at << 3, 0x02, at)) for at in range(4)]
    copy, read = _x86_copy([*loads, *stores], 256), _x86_copy(loads, 256)
    return Loops("avx512", _x86_loop(clear, body), 2 * 16 * len(sums), copy, read, 256)


def avx2_loops() -> Loops:
    """12 accumulators of 8 lanes, `ymm0` to `ymm11`; factors are `ymm14` and `ymm15`."""
    sums = range(12)
    # vxorps ymm, ymm, ymm: opcode map 0F, no prefix, opcode 57.
    clear = b"".join(_vex(1, 0, 0x57, at, at, at) for at in (*sums, 14, 15))
    body = [_vex(2, 1, 0xB8, at, 14, 15) for at in sums]
    # vmovups ymm, [base + rax + 32 * at].
    loads = [bytes((0xC5, 0xFC, 0x10, 0x44 | at << 3, 0x06, 32 * at)) for at in range(4)]
    stores = [bytes((0xC5, 0xFC, 0x11, 0x44 | at << 3, 0x02, 32 * at)) for at in range(4)]
    copy, read = _x86_copy([*loads, *stores], 128), _x86_copy(loads, 128)
    return Loops("avx2", _x86_loop(clear, body), 2 * 8 * len(sums), copy, read, 128)


def _evex(opcode_map: int, opcode: int, target: int, first: int, second: int) -> bytes:
    """An instruction of 512 bits with prefix 66 on three registers; bits that extend their numbers are inverted."""
    extension = (~target >> 3 & 1) << 7 | (~second >> 4 & 1) << 6 | (~second >> 3 & 1) << 5
    extension |= (~target >> 4 & 1) << 4 | opcode_map
    operand = (~first & 15) << 3 | 1 << 2 | 1
    width = 2 << 5 | (~first >> 4 & 1) << 3
    return bytes((0x62, extension, operand, width, opcode, _registers(target, second)))


def _vex(opcode_map: int, prefix: int, opcode: int, target: int, first: int, second: int) -> bytes:
    """An instruction of 256 bits on three registers; `prefix` is 1 for 66."""
    extension = (~target >> 3 & 1) << 7 | 1 << 6 | (~second >> 3 & 1) << 5 | opcode_map
    return bytes((0xC4, extension, (~first & 15) << 3 | 1 << 2 | prefix, opcode, _registers(target, second)))


def _registers(target: int, second: int) -> int:
    """The byte ModRM of two registers."""
    return 0xC0 | (target & 7) << 3 | second & 7


def _x86_loop(clear: bytes, body: list[bytes]) -> bytes:
    """The System V convention: `rdi` counts, and no vector register is the caller's."""
    turn = b"".join(body) + b"\x48\xff\xcf"  # dec rdi
    back = -(len(turn) + 6)
    jump = b"\x0f\x85" + back.to_bytes(4, "little", signed=True)  # jnz
    return clear + turn + jump + b"\xc5\xf8\x77\xc3"  # vzeroupper; ret


def _x86_copy(body: list[bytes], step: int) -> bytes:
    """`rdi` counts turns, `rsi` is the source, `rdx` the target, `rcx` the size, `rax` the place."""
    inner = b"".join(body) + b"\x48\x05" + step.to_bytes(4, "little")  # add rax, step
    inner += b"\x48\x39\xc8"  # cmp rax, rcx
    inner += b"\x0f\x82" + (-(len(inner) + 6)).to_bytes(4, "little", signed=True)  # jb
    turn = b"\x31\xc0" + inner + b"\x48\xff\xcf"  # xor eax, eax; …; dec rdi
    turn += b"\x0f\x85" + (-(len(turn) + 6)).to_bytes(4, "little", signed=True)  # jnz
    return turn + b"\xc5\xf8\x77\xc3"  # vzeroupper; ret


def neon_loops() -> Loops:
    """20 accumulators of 4 lanes, in the registers that are not the caller's; factors are `v30` and `v31`."""
    sums = [*range(8), *range(16, 28)]
    clear = [0x6F00E400 | register for register in (*sums, 30, 31)]  # movi v.2d, #0
    body = [0x4E20CC00 | 31 << 16 | 30 << 5 | register for register in sums]  # fmla v.4s
    body.append(0xF1000400)  # subs x0, x0, #1
    body.append(_branch(1, -len(body)))  # b.ne
    # ldp q, q, [x4], #32; stp q, q, [x5], #32
    loads = [0xACC00000 | 2 << 15 | first + 1 << 10 | 4 << 5 | first for first in (0, 2)]
    stores = [0xAC800000 | 2 << 15 | first + 1 << 10 | 5 << 5 | first for first in (0, 2)]
    ret = 0xD65F03C0
    product = _words([*clear, *body, ret])
    copy, read = _neon_copy([*loads, *stores]), _neon_copy(loads)
    return Loops("neon", product, 2 * 4 * len(sums), _words([*copy, ret]), _words([*read, ret]), 64)


def _neon_copy(body: list[int]) -> list[int]:
    """`x0` counts turns, `x1` is the source, `x2` the target, `x3` the size; `x4` and `x5` the places, `x6` the end."""
    inner = [*body, 0xEB06009F]  # cmp x4, x6
    inner.append(_branch(3, -len(inner)))  # b.lo
    # mov x4, x1; mov x5, x2; add x6, x1, x3; …; subs x0, x0, #1
    turn = [0xAA0103E4, 0xAA0203E5, 0x8B030026, *inner, 0xF1000400]
    return [*turn, _branch(1, -len(turn))]


def _branch(condition: int, distance: int) -> int:
    """A conditional branch over `distance` instructions."""
    return 0x54000000 | (distance & 0x7FFFF) << 5 | condition


def _words(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)
