"""Loops of independent multiply-adds, as machine code.

A vector unit reaches its peak when it starts a multiply-add in every cycle. The loop has as many accumulators as there
are registers for, more than the latency of an instruction times how many start in a cycle, and touches no memory. The
encodings are those of the Intel 64 manual (volume 2, sections 2.3 and 2.7) and of the Arm manual (C7.2).
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Set
from dataclasses import dataclass

from et_vm.backends.native.cpu import cpu_features

__all__ = ["Loop", "avx2_loop", "avx512_loop", "best_loop", "neon_loop"]


@dataclass(frozen=True)
class Loop:
    """A function `void (int64_t turns)` of at least one turn, in the calling convention of C."""

    name: str
    """The instruction set."""
    code: bytes
    """Position-independent machine code."""
    flops: int
    """Operations of a turn on f32: two for each multiply-add of a lane."""


def best_loop(architecture: str | None = None, features: Set[str] | None = None) -> Loop | None:
    """The loop of the widest vectors of this machine; None where none is known."""
    architecture = platform.machine() if architecture is None else architecture
    features = cpu_features() if features is None else features
    if architecture in ("x86_64", "AMD64") and platform.system() == "Linux":
        if "avx512f" in features:
            return avx512_loop()
        return avx2_loop() if {"avx2", "fma"} <= features else None
    return neon_loop() if architecture == "aarch64" and platform.system() == "Linux" else None


def avx512_loop() -> Loop:
    """24 accumulators of 16 lanes, `zmm0` to `zmm23`; factors are `zmm30` and `zmm31`."""
    sums = range(24)
    # vpxord zmm, zmm, zmm: opcode map 0F, prefix 66, opcode EF.
    clear = b"".join(_evex(1, 0xEF, at, at, at) for at in (*sums, 30, 31))
    # vfmadd231ps: opcode map 0F38, prefix 66, opcode B8.
    return Loop("avx512", _x86_loop(clear, [_evex(2, 0xB8, at, 30, 31) for at in sums]), 2 * 16 * len(sums))


def avx2_loop() -> Loop:
    """12 accumulators of 8 lanes, `ymm0` to `ymm11`; factors are `ymm14` and `ymm15`."""
    sums = range(12)
    # vxorps ymm, ymm, ymm: opcode map 0F, no prefix, opcode 57.
    clear = b"".join(_vex(1, 0, 0x57, at, at, at) for at in (*sums, 14, 15))
    return Loop("avx2", _x86_loop(clear, [_vex(2, 1, 0xB8, at, 14, 15) for at in sums]), 2 * 8 * len(sums))


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


def neon_loop() -> Loop:
    """20 accumulators of 4 lanes, in the registers that are not the caller's; factors are `v30` and `v31`."""
    sums = [*range(8), *range(16, 28)]

    def words(encode: Callable[[int], int], registers: list[int]) -> list[int]:
        return [encode(register) for register in registers]

    clear = words(lambda register: 0x6F00E400 | register, [*sums, 30, 31])  # movi v.2d, #0
    body = words(lambda register: 0x4E20CC00 | 31 << 16 | 30 << 5 | register, sums)  # fmla v.4s
    body.append(0xF1000400)  # subs x0, x0, #1
    back = -len(body) & 0x7FFFF
    listed = [*clear, *body, 0x54000001 | back << 5, 0xD65F03C0]  # b.ne; ret
    return Loop("neon", b"".join(word.to_bytes(4, "little") for word in listed), 2 * 4 * len(sums))
