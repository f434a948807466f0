"""Floats without a unit for them, to the bit: the functions of soft_float.ll on this machine, and numpy's."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files

import llvmlite.binding as llvm
import numpy as np
import pytest

SPECIAL = np.array(
    [
        *(0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x4B000000, 0x4B7FFFFF),
        *(0x4B800000, 0x4E800000, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000),
        *(0x7EFFFFFF, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000),
    ],
    np.uint32,
)
COUNT = 1 << 20


def bits() -> tuple[np.ndarray, np.ndarray]:
    """Pairs of floats: all of the special ones, random bits, and numbers whose exponents are near each other."""
    special = np.concatenate([SPECIAL, SPECIAL | np.uint32(1 << 31)])
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 1 << 32, (2, COUNT), np.uint32)
    near = (a & np.uint32(0x807FFFFF)) | ((b & np.uint32(0x7F800000)) + np.uint32(1 << 23) * (a >> 29))
    pairs = np.array([(x, y) for x in special for y in special], np.uint32).T
    tiny = a & np.uint32(0x81FFFFFF)
    lone = np.repeat(special, COUNT // 16 // len(special))
    first = np.concatenate([pairs[0], a, near, tiny, lone, a[: len(lone)]])
    second = np.concatenate([pairs[1], b, b, b & np.uint32(0x41FFFFFF), a[: len(lone)], lone])
    return first, second


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions for this machine, each in a loop over arrays."""
    text = files("et_backends.freestanding.compiler").joinpath("soft_float.ll").read_text("utf-8")
    loops: list[str] = []
    for result, name, arguments in re.findall(
        r"^define internal (\w+) @(\w+)\((.*)\) \{", text, re.MULTILINE
    ):
        types = [one.split()[0] for one in arguments.split(", ")]
        pointers = ", ".join(f"ptr %p{number}" for number in range(len(types)))
        loads = [
            f"  %a{number} = getelementptr {type}, ptr %p{number}, i64 %i\n  %v{number} = load {type}, ptr %a{number}"
            for number, type in enumerate(types)
        ]
        values = ", ".join(f"{type} %v{number}" for number, type in enumerate(types))
        loops.append(
            f"define void @loop{name}({pointers}, ptr %to, i64 %n) {{\nentry:\n  br label %loop\nloop:\n"
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n" + "\n".join(loads) + "\n"
            f"  %r = call {result} @{name}({values})\n  %at = getelementptr {result}, ptr %to, i64 %i\n"
            f"  store {result} %r, ptr %at\n  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %n\n"
            "  br i1 %more, label %loop, label %end\nend:\n  ret void\n}\n"
        )
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
    # The names of functions that the machine's library has belong to that library.
    code = re.sub(r"@(__\w+|sqrtf|fmaxf|fminf|fmaximumf|fminimumf)\(", r"@soft_\1(", "".join([text, *loops]))
    folder = tmp_path_factory.mktemp("soft_float")
    (folder / "soft.o").write_bytes(machine.emit_object(llvm.parse_assembly(code)))
    linker = [sys.executable, "-m", "ziglang", "ld.lld", "-shared"]
    subprocess.run([*linker, folder / "soft.o", "-o", folder / "soft.so"], check=True)
    return ctypes.CDLL(str(folder / "soft.so"))


def computed(library: ctypes.CDLL, name: str, result: type, *arguments: np.ndarray) -> np.ndarray:
    made = np.empty(len(arguments[0]), result)
    kept = [np.ascontiguousarray(one) for one in arguments]
    pointers = [*(ctypes.c_void_p(one.ctypes.data) for one in kept), ctypes.c_void_p(made.ctypes.data)]
    getattr(library, f"loop{name}")(*pointers, ctypes.c_int64(len(made)))
    return made


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """The same bits, where a result that is not a number has the bits of the only one there is."""
    wanted = np.where(np.isnan(expected), np.uint32(0x7FC00000), expected.view(np.uint32))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("name", "operation"),
    [("__addsf3", np.add), ("__subsf3", np.subtract), ("__mulsf3", np.multiply), ("__divsf3", np.divide)],
)
def test_arithmetic(library: ctypes.CDLL, name: str, operation: Callable[..., np.ndarray]):
    a, b = bits()
    with np.errstate(all="ignore"):
        same(computed(library, name, np.uint32, a, b), operation(a.view(np.float32), b.view(np.float32)))


def test_square_root(library: ctypes.CDLL):
    a, _ = bits()
    with np.errstate(all="ignore"):
        same(computed(library, "sqrtf", np.uint32, a), np.sqrt(a.view(np.float32)))


def test_comparisons(library: ctypes.CDLL):
    a, b = bits()
    x, y = a.view(np.float32), b.view(np.float32)
    unordered = np.isnan(x) | np.isnan(y)
    with np.errstate(all="ignore"):
        order = np.where(unordered, 0, (x > y).astype(np.int32) - (x < y))
        for name, expected in (
            ("__ltsf2", np.where(unordered, 1, order)),
            ("__gtsf2", np.where(unordered, -1, order)),
            ("__unordsf2", unordered),
            ("__aeabi_fcmpeq", x == y),
            ("__aeabi_fcmplt", x < y),
            ("__aeabi_fcmple", x <= y),
            ("__aeabi_fcmpgt", x > y),
            ("__aeabi_fcmpge", x >= y),
        ):
            np.testing.assert_array_equal(computed(library, name, np.int32, a, b), expected, err_msg=name)
        for name, choose in (("fmaxf", np.fmax), ("fminf", np.fmin)):
            found = computed(library, name, np.uint32, a, b).view(np.float32)
            np.testing.assert_array_equal(found, choose(x, y), err_msg=name)
        for name, choose in (("fmaximumf", np.maximum), ("fminimumf", np.minimum)):
            zeros = (x == 0) & (y == 0)
            signs = a & b if name == "fmaximumf" else a | b
            expected = np.where(zeros, signs.view(np.float32), choose(x, y))
            same(computed(library, name, np.uint32, a, b), expected)


def test_conversions(library: ctypes.CDLL):
    a, b = bits()
    long = a.astype(np.uint64) << np.uint64(32) | b
    long >>= (a % 64).astype(np.uint64)
    for name, source in (
        ("__floatunsisf", a),
        ("__floatsisf", a.view(np.int32)),
        ("__floatundisf", long),
        ("__floatdisf", long.view(np.int64)),
    ):
        same(computed(library, name, np.uint32, source), source.astype(np.float32))
    with np.errstate(invalid="ignore"):
        x = np.nan_to_num(a.view(np.float32).astype(np.float64), posinf=1e30, neginf=-1e30)
    for name, kind in (("__fixunssfsi", np.uint32), ("__fixsfsi", np.int32)):
        limits = np.iinfo(kind)
        expected = np.trunc(np.clip(x, limits.min, limits.max)).astype(kind)
        np.testing.assert_array_equal(computed(library, name, kind, a), expected)
    found = computed(library, "__fixsfdi", np.int64, a)
    outside = np.abs(x) >= 2.0**63
    expected = np.where(outside, 0, np.trunc(x)).astype(np.int64)
    limits = np.iinfo(np.int64)
    np.testing.assert_array_equal(found, np.where(outside, np.where(x > 0, limits.max, limits.min), expected))


def test_integers(library: ctypes.CDLL):
    a, b = bits()
    b[b == 0] = 7
    both = computed(library, "__aeabi_uidivmod", np.uint64, a, b)
    np.testing.assert_array_equal(both, (a % b).astype(np.uint64) << np.uint64(32) | a // b)
    x, y = a.view(np.int32).astype(np.int64), b.view(np.int32).astype(np.int64)
    quotient = (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(np.int64)
    rest = x - quotient * y
    both = computed(library, "__aeabi_idivmod", np.uint64, a, b)
    np.testing.assert_array_equal(both & np.uint64(0xFFFFFFFF), quotient.astype(np.uint32))
    np.testing.assert_array_equal(both >> np.uint64(32), rest.astype(np.uint32))
    np.testing.assert_array_equal(computed(library, "__udivsi3", np.uint32, a, b), a // b)
    np.testing.assert_array_equal(computed(library, "__divsi3", np.uint32, a, b), quotient.astype(np.uint32))
    long, other = a.astype(np.uint64) << np.uint64(32) | b, b.astype(np.uint64) << np.uint64(32) | a
    np.testing.assert_array_equal(computed(library, "__muldi3", np.uint64, long, other), long * other)
    some, divisor = long[::16].copy(), other[::16] >> (a[::16] % 64).astype(np.uint64)
    divisor[divisor == 0] = 7
    signed, against = some.view(np.int64), divisor.view(np.int64)
    wanted = np.abs(signed).view(np.uint64) // np.abs(against).view(np.uint64)
    wanted = np.where((signed < 0) ^ (against < 0), 0 - wanted, wanted)
    for name, expected in (
        ("__udivdi3", some // divisor),
        ("__umoddi3", some % divisor),
        ("__divdi3", wanted),
        ("__moddi3", some - wanted * divisor),
    ):
        np.testing.assert_array_equal(
            computed(library, name, np.uint64, some, divisor), expected, err_msg=name
        )
    places = a % np.uint32(64)
    wide = places.astype(np.uint64)
    for name, expected in (
        ("__ashldi3", long << wide),
        ("__lshrdi3", long >> wide),
        ("__ashrdi3", (long.view(np.int64) >> wide.astype(np.int64)).view(np.uint64)),
    ):
        np.testing.assert_array_equal(computed(library, name, np.uint64, long, places), expected)
