"""Peaks of the machine: the machine code that measures them, the roofline, and the cache."""

from __future__ import annotations

import ctypes
import json
import platform
from pathlib import Path

import numpy as np
import pytest

from et_schema.files import cache_file
from et_vm.backends.cpu import cpu_features
from et_vm.backends.elf import Image, map_image
from et_vm.devtools import machine_peak as peaks
from et_vm.devtools.machine_loops import Loops, avx2_loops, avx512_loops, best_loops, neon_loops
from et_vm.devtools.machine_peak import WORKING_SETS, MachinePeak, machine_peak

PEAK = MachinePeak("cpu", 1, "matmul", 100e9, ((1000, 50e9), (100_000, 10e9)))


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return cache_file(peaks.CACHE)


def test_the_loop_for_arm_counts_and_returns() -> None:
    """In an emulator: the sums of the loop are products of the factors, added once a turn."""
    unicorn = pytest.importorskip("unicorn", reason="unicorn (an extra of the tests) emulates AArch64")
    arm = pytest.importorskip("unicorn.arm64_const")
    code = neon_loops().multiply_add
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    machine.mem_map(0x1000, 0x1000)
    machine.mem_write(0x1000, code)
    machine.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)
    machine.reg_write(arm.UC_ARM64_REG_X0, 3)
    machine.reg_write(arm.UC_ARM64_REG_LR, 0x1800)
    machine.reg_write(arm.UC_ARM64_REG_V0, (1 << 128) - 1)
    # After the 22 registers are cleared, the factors are 2.0 and 3.0 in each lane.
    machine.emu_start(0x1000, 0x1000 + 4 * 22)
    lanes = lambda bits: sum(bits << 32 * lane for lane in range(4))  # noqa: E731
    machine.reg_write(arm.UC_ARM64_REG_V30, lanes(0x40000000))
    machine.reg_write(arm.UC_ARM64_REG_V31, lanes(0x40400000))
    machine.emu_start(0x1000 + 4 * 22, 0x1800)
    assert machine.reg_read(arm.UC_ARM64_REG_X0) == 0
    sums = [getattr(arm, f"UC_ARM64_REG_V{at}") for at in (*range(8), *range(16, 28))]
    assert [machine.reg_read(one) for one in sums] == [lanes(0x41900000)] * 20  # 18.0
    assert neon_loops().flops == 20 * 4 * 2


@pytest.mark.parametrize("copies", [True, False])
def test_the_copy_for_arm(copies: bool) -> None:
    unicorn = pytest.importorskip("unicorn", reason="unicorn (an extra of the tests) emulates AArch64")
    arm = pytest.importorskip("unicorn.arm64_const")
    loops = neon_loops()
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    machine.mem_map(0x1000, 0x4000)
    machine.mem_write(0x1000, loops.copy if copies else loops.read)
    machine.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)
    data = bytes(range(1, 1 + 3 * loops.step))
    machine.mem_write(0x2000, data)
    for register, value in enumerate((2, 0x2000, 0x3000, len(data))):
        machine.reg_write(getattr(arm, f"UC_ARM64_REG_X{register}"), value)
    machine.reg_write(arm.UC_ARM64_REG_LR, 0x1800)
    machine.emu_start(0x1000, 0x1800)
    assert machine.reg_read(arm.UC_ARM64_REG_X0) == 0
    assert machine.mem_read(0x3000, len(data) + 64) == (data if copies else bytes(len(data))) + bytes(64)
    assert machine.mem_read(0x2FC0, 64) == bytes(64)


@pytest.mark.parametrize(("loops", "feature"), [(avx2_loops(), "fma"), (avx512_loops(), "avx512f")])
def test_loops_of_this_machine(loops: Loops, feature: str) -> None:
    if platform.machine() != "x86_64" or feature not in cpu_features():
        pytest.skip(f"a machine without {feature}")
    starts = {"a": 0, "b": len(loops.multiply_add), "c": len(loops.multiply_add + loops.copy)}
    memory = map_image(Image(loops.multiply_add + loops.copy + loops.read, starts))
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(memory.address("a"))(1000)
    source = np.random.default_rng(0).integers(0, 256, 5 * loops.step, np.uint8)
    target = np.zeros(7 * loops.step, np.uint8)
    copy = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    copy(memory.address("b"))(3, source.ctypes.data, target[loops.step :].ctypes.data, source.nbytes)
    assert (target[loops.step : -loops.step] == source).all()
    copy(memory.address("c"))(3, source.ctypes.data, target.ctypes.data, source.nbytes)
    assert not target[: loops.step].any()
    assert not target[-loops.step :].any()


def test_the_widest_vectors_are_chosen() -> None:
    assert best_loops("x86_64", {"avx2", "fma", "avx512f"}) == avx512_loops()
    assert best_loops("x86_64", {"avx2", "fma"}) == avx2_loops()
    assert best_loops("x86_64", {"avx2"}) is None
    assert best_loops("riscv64", set()) is None


def test_roofline() -> None:
    assert PEAK.bandwidth(1000) == 50e9
    assert PEAK.bandwidth(1001) == PEAK.bandwidth(10**9) == 10e9
    assert PEAK.least_ns(1000, 60, 40) == pytest.approx(10)  # bound by arithmetic: 1000 / 100e9 s
    assert PEAK.least_ns(10, 900, 100) == pytest.approx(20)  # by memory: 1000 / 50e9 s
    assert PEAK.least_ns(None, 1000, 1000) == pytest.approx(40)  # the set may be that of an operator in place
    assert PEAK.least_ns(None, 1001, 0) == pytest.approx(100.1)
    assert PEAK.least_ns(None, None, None) == 0


def test_peaks_are_measured_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = machine_peak(1)
    assert first.flops > 1e8
    assert [size for size, _ in first.bandwidths] == list(WORKING_SETS)
    rates = [rate for _, rate in first.bandwidths]
    assert rates == sorted(rates, reverse=True)
    monkeypatch.setattr(peaks, "measured_peak", lambda threads: PEAK)
    again = machine_peak(1)
    assert (again.how, again.threads) == (first.how, 1)
    assert again.flops == pytest.approx(first.flops)
    assert machine_peak(2) == PEAK
    assert machine_peak(1, again=True) == PEAK
    assert len(json.loads(cache.read_text())) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": 1}', "\udc80"])
def test_damaged_caches_are_replaced(cache: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(peaks, "measured_peak", lambda threads: PEAK)
    cache.parent.mkdir()
    cache.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert machine_peak(1) == PEAK
    assert PEAK.json() in json.loads(cache.read_text()).values()


@pytest.mark.parametrize("damage", [{"gflops": -1}, {"gflops": None}, {"bandwidths": []}, {"how": ...}])
def test_damaged_peaks_are_measured_again(cache: Path, monkeypatch: pytest.MonkeyPatch, damage: dict) -> None:
    machine_peak(1)
    [(key, value)] = json.loads(cache.read_text()).items()
    value |= damage
    cache.write_text(json.dumps({key: {name: one for name, one in value.items() if one is not ...}}))
    monkeypatch.setattr(peaks, "measured_peak", lambda threads: PEAK)
    assert machine_peak(1) == PEAK


def test_folders_that_cannot_be_written_are_done_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(peaks, "measured_peak", lambda threads: PEAK)
    assert machine_peak(1) == PEAK
